#!/bin/sh
# Runs one fuzz target from generated seeds: run.sh TARGET. STENTOR_FUZZ_SECONDS: how long (6).
# STENTOR_FUZZ_CORPUS: a folder that keeps each target's inputs from one run to the next.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/seeds"
corpus=$work/seeds
if [ -n "${STENTOR_FUZZ_CORPUS:-}" ]; then
    corpus=$STENTOR_FUZZ_CORPUS/$(basename "$1")
    mkdir -p "$corpus"
fi
STENTOR_FUZZ_SEEDS="$work/seeds" "$1" -max_total_time="${STENTOR_FUZZ_SECONDS:-6}" -max_len=4096 -rss_limit_mb=1024 \
    -error_exitcode=1 -print_final_stats=1 -verbosity=0 "$corpus" "$work/seeds"
