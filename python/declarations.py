#!/usr/bin/env python3
"""Writes stentor/_abi.py: the public header's declarations, in the form that cffi loads without a compiler.

    declarations.py stentor.h _abi.py CC...     CC: the C compiler, which resolves the header's macros
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import cffi

CONSTANT = re.compile(r'^#define (STN_\w+) (\(-?\d+\)|\d+)(?=\s)', re.MULTILINE)


def declarations(header, compiler):
    """What the header declares after its macros, and its whole-number constants."""
    with tempfile.TemporaryDirectory() as empty:  # size_t and its like are known to cffi
        for name in ('stddef.h', 'stdint.h'):
            pathlib.Path(empty, name).touch()
        plain = subprocess.run([*compiler, '-E', '-P', '-nostdinc', '-U__GNUC__', '-I', empty, header],
                               check=True, capture_output=True, text=True).stdout
    constants = CONSTANT.findall(pathlib.Path(header).read_text(encoding='utf-8'))
    return plain + ''.join(f'#define {name} {value.strip("()")}\n' for name, value in constants)


def main(header, output, *compiler):
    builder = cffi.FFI()
    builder.set_source('stentor._abi', None)
    builder.cdef(declarations(header, compiler))
    builder.emit_python_code(output)


if __name__ == '__main__':
    main(*sys.argv[1:])
