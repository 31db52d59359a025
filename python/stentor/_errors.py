"""The library's status codes as exceptions, with the library's error messages."""

from ._library import ffi, lib


class StentorError(RuntimeError):
    """An error of the driver or the compiler, or a missing GPU.

    Wrong arguments are ValueErrors, lack of memory is a MemoryError and file errors are OSErrors.

    Attributes
    ----------
    status : str
        The library's name of the error, such as ``'STN_ERROR_DRIVER'``.

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
    """Raises the exception for a status other than STN_OK."""
    message = ffi.string(error.message).decode(errors='replace')
    if status in _BUILT_IN:
        raise _BUILT_IN[status](message)
    raise StentorError(message, ffi.typeof('stn_status').elements[status])


def exit_code(error: Exception) -> int:
    """The exit code of the command `stentor` for an exception."""
    if isinstance(error, StentorError):
        return lib.stn_status_exit_code(getattr(lib, error.status))
    found = [status for status, kind in _BUILT_IN.items() if isinstance(error, kind)]
    return lib.stn_status_exit_code(found[0] if found else lib.STN_ERROR_INTERNAL)


def check(status: int, error) -> None:
    if status:
        raise_error(status, error)
