"""The shared library, opened once. Importing the package needs no compiler, no CUDA and no GPU.

The suffix is .so.0, because Python takes a file named .so for an extension module."""

import os
import pathlib

from ._abi import ffi

path = os.environ.get('STENTOR_LIBRARY') or str(pathlib.Path(__file__).with_name('libstentor.so.0'))
# RTLD_NODELETE: the library's threads still run in it when Python closes libraries at exit.
lib = ffi.dlopen(path, ffi.RTLD_NOW | ffi.RTLD_NODELETE)


def version() -> str:
    return ffi.string(lib.stn_version()).decode()


def take_text(text) -> str:
    """Copies a string that the library returned, and frees it."""
    try:
        return ffi.string(text[0]).decode(errors='replace')
    finally:
        lib.stn_text_free(text[0])
