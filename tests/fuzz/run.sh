#!/bin/sh
# Runs one fuzz target from generated seeds and the corpus in tests/oss-fuzz: run.sh TARGET.
# STENTOR_FUZZ_SECONDS: how long (300). New inputs are kept from one run to the next, in
# STENTOR_FUZZ_CORPUS or beside the target.
set -eu
name=$(basename "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
corpus=${STENTOR_FUZZ_CORPUS:-$(dirname "$1")/corpus}/$name
mkdir -p "$work/seeds" "$corpus"
python3 -m zipfile -e "$(dirname "$0")/../oss-fuzz/corpus/$name.zip" "$work/seeds"
STENTOR_FUZZ_SEEDS="$work/seeds" "$1" -max_total_time="${STENTOR_FUZZ_SECONDS:-300}" -max_len=4096 -rss_limit_mb=1024 \
    -error_exitcode=1 -print_final_stats=1 -verbosity=0 -artifact_prefix="$corpus-" "$corpus" "$work/seeds"
