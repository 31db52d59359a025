"""The shared library, opened once. Nothing else is needed to import the package: no compiler, no CUDA, no GPU."""

import os
import pathlib

from ._abi import ffi

path = os.environ.get('STENTOR_LIBRARY') or str(pathlib.Path(__file__).with_name('libstentor.so.0'))
# Never unloaded: its threads wait in it while Python ends and closes libraries in an order of its own.
lib = ffi.dlopen(path, ffi.RTLD_NOW | ffi.RTLD_NODELETE)


def version() -> str:
    return ffi.string(lib.stn_version()).decode()


def take_text(text) -> str:
    """Text that the library returned: copied, and freed."""
    try:
        return ffi.string(text[0]).decode(errors='replace')
    finally:
        lib.stn_text_free(text[0])
