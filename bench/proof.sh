#!/bin/bash
# Tests and measurements of a change on a GPU, one part at a time:
#
#     bench/proof.sh BUILD PART...
#
#   random     random problems, every strategy against the host: COUNT (2000), SEED (today's date)
#   tests      the GPU tests of the suites named in SUITES (default: all strategies)
#   sanitize   compute-sanitizer (memcheck and racecheck) on random problems of each strategy
#   speed      stentor-bench on the groups in GROUPS_TO_TIME, medians of 7 runs
#   layers     Fourier layers: the paper's cases and a range of real sizes
#   python     the Python package's tests on the GPU, the time of a call
#   plans      quality of plans, and the wait for them with an empty cache (bench/planner.py)
#   limits     Nsight Compute's counters of selected cases
#
# Each part ends after LIMIT seconds (540), writes OUT/PART.log (BUILD/proof), and prints one line
# with its outcome; the script fails if a part failed. A part that reached its limit is reported as
# such and has not passed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# --alone: one part without a limit, for this script's calls of itself.
[ "${1:-}" = --alone ] && shift && alone=1
build=$(cd "${1:?usage: bench/proof.sh BUILD PART...}" && pwd) || exit 2
shift
out=${OUT:-$build/proof}
limit=${LIMIT:-540}
programs=$build/tests/strategies

random() { "$programs/test_random" --count "${COUNT:-2000}" --seed "${SEED:-$(date +%Y%m%d)}" --large --jobs 8; }

tests() {
    local suite
    for suite in ${SUITES:-segment spectral sparse lowrank direct faces fft fno layer sourced tune}; do
        meson test -C "$build" --no-rebuild --suite "$suite" --no-suite emulator --no-suite unit --print-errorlogs || return 1
    done
}

# compute-sanitizer exits with 9 if it finds an error. The tests named take seconds without it.
sanitize() {
    local tool slice
    for slice in ${SLICES:-random:segment random:spectral random:sparse random:lowrank random:direct sourced large faces fft:fft}; do
        for tool in memcheck racecheck; do
            echo "# $tool over test_$slice"
            # shellcheck disable=SC2046 # an option and its value
            timeout "${SLICE_LIMIT:-60}" compute-sanitizer --tool "$tool" --error-exitcode 9 \
                "$(find "$programs" -type f -name "test_${slice%%:*}")" \
                $([ "$slice" = "${slice#*:}" ] || echo --strategy "${slice#*:}") $([ "${slice%%:*}" != fft ] || echo --only scales)
            case $? in
                0) echo "# no error" ;;
                124) echo "# cut short after ${SLICE_LIMIT:-60} s, no error until then" ;;
                *) return 1 ;;
            esac
        done
    done
}

speed() {
    local group
    for group in ${GROUPS_TO_TIME:-segment spectral filters dense sparse lowrank time fft-grid}; do
        "$build/bench/stentor-bench" --group "$group" --repeat 7 || return 1
    done
}

layers() {
    "$build/bench/stentor-bench" --group fno,fno-grid --repeat 7
}

python() {
    meson test -C "$build" --no-rebuild --print-errorlogs python-device-gpu python-kinds-gpu python-streams-gpu python-given-gpu \
        python-torch-gpu python-spectral-gpu || return 1
    PYTHONPATH=$build/python python3 "$here/python_overhead.py"
}

plans() {
    local stentor=$build/src/cli/stentor
    python3 "$here/planner.py" cold --plans "$build/bench/stentor-plans" --list random --count 40 --limit $((limit / 3)) \
        --json "$out/cold.json" || return 1
    python3 "$here/planner.py" regret --stentor "$stentor" --limit $((limit / 2)) --json "$out/regret.json"
}

# Measures one launch of each kernel.
limits() {
    local each
    for each in 'sparse heat-2d-1 f16' 'sparse heat-1d-1 f16' 'sparse box-2d49p-1 f32' 'sparse box-2d9p f16' \
        'fno 1d-128-m64-c128-b16384 f32' 'spectral heat-2d-large-4 f64' 'spectral heat-3d-fixed f64' 'segment heat-1d f64'; do
        # shellcheck disable=SC2086 # words of a list
        set -- $each
        echo "# $each"
        timeout 90 python3 "$here/limits.py" --raw "$out" "$build/bench/stentor-bench" --group "$1" --case "$2" --dtype "$3"
    done
}


if [ -n "${alone:-}" ]; then
    "$1"
    exit $?
fi
mkdir -p "$out"
failed=0
for part; do
    case $part in
        random | tests | sanitize | speed | layers | python | plans | limits) ;;
        *) echo "bench/proof.sh: there is no part named $part" >&2 && exit 2 ;;
    esac
    started=$SECONDS
    timeout --kill-after=10 "$limit" "$0" --alone "$build" "$part" >"$out/$part.log" 2>&1
    case $? in
        0) verdict=ok ;;
        124 | 137) verdict="cut short after $limit s" ;;
        *) verdict=FAILED && failed=1 ;;
    esac
    echo "$part: $verdict, $((SECONDS - started)) s; $(tail -n 1 "$out/$part.log")"
done
exit $failed
