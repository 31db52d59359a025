"""Failures of the library as exceptions, each with the library's own sentence."""

from ._library import ffi, lib


class StentorError(RuntimeError):
    """What is neither a wrong argument nor a lack of memory nor a file: a driver, a compiler, a GPU that is not there.

    Attributes
    ----------
    status : str
        The library's name for it, such as ``'STN_ERROR_DRIVER'``.

    Examples
    --------
    >>> import stentor
    >>> try:
    ...     stentor.Plan((8, 8), 'heat-2d', device='cuda:99')
    ... except stentor.StentorError as error:
    ...     print(error.status)
    STN_ERROR_NO_DEVICE
    """

    def __init__(self, message: str, status: str = 'STN_ERROR_INTERNAL'):
        super().__init__(message)
        self.status = status


_BUILT_IN = {
    lib.STN_ERROR_INVALID_ARGUMENT: ValueError,
    lib.STN_ERROR_OUT_OF_MEMORY: MemoryError,
    lib.STN_ERROR_IO: OSError,
    lib.STN_ERROR_FORMAT: OSError,
}


def new_error():
    return ffi.new('stn_error *')


def raise_error(status: int, error) -> None:
    """Raises what a status that is not STN_OK means."""
    message = ffi.string(error.message).decode(errors='replace')
    if status in _BUILT_IN:
        raise _BUILT_IN[status](message)
    raise StentorError(message, ffi.typeof('stn_status').elements[status])


def check(status: int, error) -> None:
    if status:
        raise_error(status, error)
