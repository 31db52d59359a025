#!/bin/bash
# Measures the wisdom to ship for this GPU (cache/tuned/README.md): every candidate of the problems
# in bench/planner_problems.json, in one process.
#
#     bench/seeds.sh BUILD [OUT]
#
# `bench/planner.py regret --seeds OUT` writes the same file. Candidates predicted to take more than
# WITHIN (3) times as long as the best are skipped. After LIMIT seconds (80) no further problem
# begins, and the results are written; problems are measured in an order that spreads over the list. OUT is
# cache/tuned/ARCH.txt by default, which is embedded in the library after
# `meson setup --reconfigure BUILD` and a build. MODE=measure is faster and less thorough. CACHE_DIR
# keeps compiled kernels for later calls.
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
