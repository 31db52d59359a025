#!/bin/bash
# Measures seeds for the GPU at hand (cache/tuned/README.md): every candidate of bench/planner_problems.json, in one process.
#
#     bench/seeds.sh BUILD [OUT]
#
# bench/planner.py regret --seeds OUT does the same on its way. Candidates that are estimated to take WITHIN times the best (3) are left
# out. LIMIT seconds (80): then no further problem begins, and what was measured is written. Problems come in an order that spreads over
# the list. OUT is cache/tuned/ARCH.txt, whose copy the library carries after `meson setup --reconfigure BUILD` and a build. MODE=measure is
# faster and less thorough, CACHE_DIR keeps the kernels from one call to the next.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
stentor=$(cd "${1:?usage: bench/seeds.sh BUILD [OUT]}" && pwd)/src/cli/stentor
arch=$("$stentor" doctor --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["device"].get("arch") or "")')
[ -n "$arch" ] || { echo "bench/seeds.sh: there is no GPU here" >&2; exit 3; }
out=${2:-$here/../cache/tuned/$arch.txt}
folder=${CACHE_DIR:-$(mktemp -d)}
trap '[ -n "${CACHE_DIR:-}" ] || rm -rf "$folder"' EXIT
STENTOR_SEEDS=none "$stentor" tune --problems "${LIST:-$here/planner_problems.json}" --mode "${MODE:-patient}" --within "${WITHIN:-3}" \
    --limit "${LIMIT:-80}" --time-limit "${EACH:-6}" --cache-dir "$folder" --seeds "$out"
echo "$out: $(grep -c '^entry: ' "$out") classes of problems, $(wc -c <"$out") bytes"
