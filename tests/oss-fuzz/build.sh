#!/bin/bash
# Builds all fuzz targets as OSS-Fuzz asks: with $CC, $CFLAGS and $LIB_FUZZING_ENGINE, into $OUT, a
# ZIP of seeds beside each: the generated ones and those of corpus/. The sources of a target are those of its command in meson's build, so
# that they are listed once. To try it:
#
#     CC=clang CFLAGS="-O1 -g -fsanitize=fuzzer-no-link,address" LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
#         OUT=/tmp/out WORK=/tmp/work tests/oss-fuzz/build.sh
set -eu
root=$(cd "$(dirname "$0")/../.." 2>/dev/null && [ -f meson.build ] && pwd || pwd)
build=${WORK:-/tmp}/stentor-build
mkdir -p "$OUT"
env -u CFLAGS -u CXXFLAGS -u LDFLAGS CC=clang meson setup "$build" "$root" >/dev/null
for target in $(ninja -C "$build" -t targets all | sed -n 's/^\([^ ]*\/fuzz_[a-z]*\): .*/\1/p'); do
    name=$(basename "$target")
    command=$(ninja -C "$build" -t commands "$target" | tail -n 1)
    # Without meson's own compiler, sanitizers and output.
    command=$(echo "$command" | sed -E 's/^[^ ]*clang //; s/-f(no-)?sanitize[^ ]*//g; s/-MD -MF [^ ]*//; s/ -o [^ ]*//')
    # The system's libraries are linked statically: a target runs on another machine.
    command=$(echo "$command" | sed -E 's/-l(sodium|jansson|png)/-Wl,-Bstatic -l\1 -Wl,-Bdynamic/g; s/-lpng/-lpng -lz/')
    (cd "$build" && eval "$CC $CFLAGS $command $LIB_FUZZING_ENGINE -o '$OUT/$name' -lz -lm")
    seeds=$(mktemp -d)
    python3 -m zipfile -e "$root/tests/oss-fuzz/corpus/$name.zip" "$seeds"
    STENTOR_FUZZ_SEEDS=$seeds "$OUT/$name" -runs=0 >/dev/null 2>&1 || true
    if [ -n "$(ls "$seeds")" ]; then python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" "$seeds"/*; fi
    rm -r "$seeds"
done
ls "$OUT"
