#!/usr/bin/env python3
"""Prints the key of one field (name, value), by FORMAT.md and Python's hashlib, in hex digits."""
import hashlib
import struct
import sys


def field(label, value):
    return struct.pack("<Q", len(label)) + label + struct.pack("<Q", len(value)) + value


major, minor, patch = (int(part) for part in sys.argv[1].split("."))
versions = struct.pack("<4I", 2, major, minor, patch)
text = field(b"format and library version", versions) + field(b"name", b"value")
print(hashlib.sha256(text).hexdigest())
