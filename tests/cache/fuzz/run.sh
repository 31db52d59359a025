#!/bin/sh
# Runs one fuzz target from generated seeds: run.sh TARGET. STENTOR_FUZZ_SECONDS: how long (10).
set -eu
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
mkdir "$corpus/seeds"
STENTOR_FUZZ_SEEDS="$corpus/seeds" "$1" -max_total_time="${STENTOR_FUZZ_SECONDS:-10}" -max_len=4096 -rss_limit_mb=1024 \
    -error_exitcode=1 -print_final_stats=1 -verbosity=0 "$corpus/seeds"
