#!/usr/bin/env python3
"""Writes the kernel templates as one C table: embed.py OUTPUT.c FOLDER NAME...

Each NAME is a file of FOLDER, and the name under which kernels include it. The texts become arrays of bytes, so that
no compiler's limit on string literals applies, and end in a NUL that their sizes do not count."""
import sys
from pathlib import Path


def array(text: bytes) -> str:
    values = [str(byte if byte < 128 else byte - 256) for byte in text + b"\0"]  # as a signed char holds it
    return "\n".join(",".join(values[i : i + 32]) + "," for i in range(0, len(values), 32))


def main() -> None:
    output, folder, names = Path(sys.argv[1]), Path(sys.argv[2]), sorted(sys.argv[3:])
    for name in {each for each in names if names.count(each) > 1}:
        sys.exit(f"{name} is listed twice: NVRTC takes no header twice")
    parts = ["/* Written by kernel_templates/embed.py: do not edit. */", '#include "render/render.h"', ""]
    rows = []
    for index, name in enumerate(names):
        text = (folder / name).read_bytes()
        if b"\0" in text:
            sys.exit(f"{name}: a template must not hold a NUL byte")
        parts.append(f"static const char text_{index}[] = {{\n{array(text)}\n}};")
        rows.append(f'    {{"{name}", text_{index}, sizeof text_{index} - 1}},')
    parts.append("const stn_template stn_embedded_templates[] = {\n" + "\n".join(rows) + "\n};")
    parts.append(f"const size_t stn_embedded_template_count = {len(names)};")
    output.write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
