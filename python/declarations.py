#!/usr/bin/env python3
"""Writes stentor/_abi.py: the declarations of the public header and of DLPack for cffi.

cffi loads this form without a compiler or a parser.

    declarations.py stentor.h _abi.py CC...     CC: the C compiler, which expands the macros
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import cffi

CONSTANT = re.compile(r'^#define (STN_\w+) (\(-?\d+\)|\d+)(?=\s)', re.MULTILINE)

# The structs of DLPack's public specification, before version 1 and since version 1.
DLPACK = '''
    typedef struct { int32_t type, id; } DLDevice;
    typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
    typedef struct {
        void *data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t *shape, *strides; uint64_t byte_offset;
    } DLTensor;
    typedef struct DLManagedTensor {
        DLTensor tensor; void *context; void (*deleter)(struct DLManagedTensor *);
    } DLManagedTensor;
    typedef struct DLManagedTensorVersioned {
        uint32_t major, minor; void *context; void (*deleter)(struct DLManagedTensorVersioned *); uint64_t flags;
        DLTensor tensor;
    } DLManagedTensorVersioned;
'''


def declarations(header, compiler):
    """The header's declarations after macro expansion, and its integer constants."""
    # Empty standard headers, since cffi knows size_t and the types of stdint.h.
    with tempfile.TemporaryDirectory() as empty:
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
    builder.cdef(DLPACK)
    builder.emit_python_code(output)


if __name__ == '__main__':
    main(*sys.argv[1:])
