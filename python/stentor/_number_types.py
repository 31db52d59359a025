"""The number types of arrays and of arithmetic, by the names of NumPy, and bfloat16."""

from typing import Any, Collection

import numpy as np

from ._library import lib
from ._words import said

# The types of arithmetic.
DTYPES = {'float64': lib.STN_F64, 'float32': lib.STN_F32, 'float16': lib.STN_F16}
# The types of arrays of real numbers.
ELEMENTS = {'float64': lib.STN_ELEMENT_F64, 'float32': lib.STN_ELEMENT_F32, 'float16': lib.STN_ELEMENT_F16,
            'bfloat16': lib.STN_ELEMENT_BF16, 'int8': lib.STN_ELEMENT_I8, 'uint8': lib.STN_ELEMENT_U8, 'int16': lib.STN_ELEMENT_I16,
            'uint16': lib.STN_ELEMENT_U16, 'int32': lib.STN_ELEMENT_I32, 'uint32': lib.STN_ELEMENT_U32, 'int64': lib.STN_ELEMENT_I64,
            'uint64': lib.STN_ELEMENT_U64, 'bool': lib.STN_ELEMENT_BOOL}
ELEMENT_OF = {np.dtype(name): element for name, element in ELEMENTS.items() if name != 'bfloat16'}
PARTS = {'complex64': 'float32', 'complex128': 'float64'}  # the real and the imaginary part
ITEM_SIZES = {name: lib.stn_element_size(element) for name, element in ELEMENTS.items()}
ITEM_SIZES.update(complex64=8, complex128=16)
REAL = {'complex64': 'float32', 'complex128': 'float64', 'float32': 'float32', 'float64': 'float64'}
COMPLEX = {'float32': 'complex64', 'float64': 'complex128'}


def type_name(x: Any) -> str:
    """The name of the number type of an array of any library."""
    return getattr(x.dtype, 'name', None) or str(x.dtype).rpartition('.')[2]


def number_type(dtype: Any, among: Collection[str] = (*ELEMENTS, *PARTS)) -> str:
    """The name of a number type, one of `among`, from a dtype of NumPy or PyTorch or a name."""
    name = str(dtype).rpartition('.')[2] if type(dtype).__module__.startswith('torch') else getattr(dtype, '__name__', dtype)
    if isinstance(name, str):
        name = {'f64': 'float64', 'f32': 'float32', 'f16': 'float16', 'bf16': 'bfloat16'}.get(name, name)
    if name != 'bfloat16':  # which NumPy does not have
        try:
            name = '' if dtype is None else np.dtype(name).name
        except Exception:  # np.dtype raises exceptions of many types
            name = ''
    if name not in among:
        raise ValueError(f'dtype is {said(dtype)}: use one of {", ".join(among)}')
    return name


def dtype_of(dtype: Any) -> np.dtype:
    """The dtype of arithmetic."""
    return np.dtype(number_type(dtype, DTYPES))


def work_dtype(source: np.dtype, target: np.dtype) -> np.dtype:
    """The dtype of computation: the wider of both floating types; float64 for integers."""
    floats = [d if d.kind == 'f' else np.dtype(np.float64) for d in (source, target)]
    return np.promote_types(*floats).newbyteorder('=')


def is_whole(dtype: str) -> bool:
    """Whether the number type, by its name, is of integers or bool."""
    return not dtype.startswith(('float', 'bfloat', 'complex'))


def arithmetic_of(source: str, target: str) -> str:
    """The dtype of computation on a GPU, from the names of both arrays' number types.

    If both types are the same type of the library (float64, float32, float16), it is that type.
    Otherwise it is float64 if the result is of integers, or if either array has elements of 8 bytes
    or integers of more than 16 bits; else float32."""
    if source == target and source in DTYPES:
        return source
    wide = is_whole(target) or any(ITEM_SIZES[each] == 8 or is_whole(each) and ITEM_SIZES[each] > 2 for each in (source, target))
    return 'float64' if wide else 'float32'


def real_of(dtype: str) -> str:
    """The dtype of computation for an array's number type, by its name, as in scipy."""
    return REAL.get(dtype) or ('float64' if is_whole(dtype) else 'float32')


def sums_exactly(source: np.dtype, target: np.dtype) -> bool:
    """Whether sums of such integers are exact in float64: those of at most 32 bits are."""
    return target.kind in 'biu' and source.kind in 'biu' and max(source.itemsize, target.itemsize) <= 4


def put(target: Any, x: Any) -> Any:
    """Copies an array into another, without NumPy's warnings, as scipy's C code converts."""
    if target.dtype == x.dtype:
        target[...] = x
        return target
    with np.errstate(all='ignore'):
        target[...] = x
    return target
