#!/usr/bin/env python3
"""Writes wisdom files as a C table: embed_wisdom.py OUTPUT.c [FILE...], one per architecture."""
import sys
from pathlib import Path


def array(text: bytes) -> str:
    # Values of a signed char.
    values = [str(byte if byte < 128 else byte - 256) for byte in text + b"\0"]
    return "\n".join(",".join(values[i : i + 32]) + "," for i in range(0, len(values), 32))


def main() -> None:
    output, files = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    parts = ["/* Written by cache/tuned/embed_wisdom.py: do not edit. */",
             '#include "tune/plan_wisdom.h"', ""]
    for index, file in enumerate(files):
        text = file.read_bytes()
        if not text.startswith(b"stentor wisdom 2\n") or b"\0" in text:
            sys.exit(f"{file} is no wisdom: bench/seeds.sh writes it")
        parts.append(f"static const char text_{index}[] = {{\n{array(text)}\n}};")
    texts = [f"text_{index}" for index in range(len(files))]
    parts.append(f"const char *const tune_embedded_wisdom[] = {{{', '.join(texts + ['0'])}}};")
    output.write_text("\n".join(parts) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
