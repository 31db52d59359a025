#!/usr/bin/env python3
"""Writes the kernel templates as one C table: embed.py OUTPUT.c VERSION.h FORMAT.h NAME...

Each NAME is a file beside this script, and the name by which kernels include it. The texts become
arrays of bytes, since compilers limit the length of string literals, and end in a NUL that their
sizes do not count. The table also has the key over all of them that cache/FORMAT.md defines,
because hashing them would take each process a millisecond. The two headers contain the versions
that are the first field of every key.
"""
import hashlib
import re
import struct
import sys
from pathlib import Path


def array(text: bytes) -> str:
    # The values of signed chars.
    values = [str(byte if byte < 128 else byte - 256) for byte in text + b"\0"]
    return "\n".join(",".join(values[i : i + 32]) + "," for i in range(0, len(values), 32))


def number(header: Path, name: str) -> int:
    return int(re.search(rf"#define {name} (\d+)", header.read_text()).group(1))


def field(label: bytes, value: bytes) -> bytes:
    return struct.pack("<Q", len(label)) + label + struct.pack("<Q", len(value)) + value


def key(version: Path, entries: Path, texts: list) -> bytes:
    numbers = [number(entries, "STN_ENTRY_VERSION"), *(number(version, f"STN_VERSION_{part}") for part in ("MAJOR", "MINOR", "PATCH"))]
    hashed = hashlib.sha256(field(b"format and library version", struct.pack("<4I", *numbers)))
    for name, text in texts:
        hashed.update(field(b"template", name.encode()) + field(b"text", text))
    return hashed.digest()


def main() -> None:
    output, version, entries = (Path(path) for path in sys.argv[1:4])
    folder, names = Path(__file__).parent, sorted(sys.argv[4:])
    for name in {each for each in names if names.count(each) > 1}:
        sys.exit(f"{name} is listed twice: NVRTC takes no header twice")
    parts = ["/* Written by kernel_templates/embed.py: do not edit. */", '#include "render/render.h"', ""]
    rows, texts = [], []
    for index, name in enumerate(names):
        text = (folder / name).read_bytes()
        if b"\0" in text:
            sys.exit(f"{name}: a template must not hold a NUL byte")
        texts.append((name, text))
        parts.append(f"static const char text_{index}[] = {{\n{array(text)}\n}};")
        rows.append(f'    {{"{name}", text_{index}, sizeof text_{index} - 1}},')
    parts.append("const stn_template stn_embedded_templates[] = {\n" + "\n".join(rows) + "\n};")
    parts.append(f"const size_t stn_embedded_template_count = {len(names)};")
    digits = ", ".join(str(byte) for byte in key(version, entries, texts))
    parts.append(f"const unsigned char stn_embedded_templates_key[32] = {{{digits}}};")
    output.write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
