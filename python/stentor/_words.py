"""Text for error messages, and basic checks of arguments."""


def said(value) -> str:
    """A wrong argument as text for an error message, at most 80 characters."""
    try:
        text = ' '.join(repr(value).split())
    except Exception:
        text = f'a {type(value).__name__}'
    return text if len(text) <= 80 else text[:76] + ' ...'


def brief(error: BaseException) -> str:
    """The message of another library's exception, in one line."""
    return (' '.join(str(error).split()) or type(error).__name__)[:200]


def listed(value, name: str) -> list:
    """The elements of a sequence; raises ValueError if the value is not one."""
    try:
        if isinstance(value, (str, bytes, dict)):
            raise TypeError
        return list(value)
    except Exception:
        raise ValueError(f'{name} is {said(value)}: give a sequence') from None


def whole(value, name: str, least: int, kind: type = ValueError, below: int = 2**63) -> int:
    """A whole number, at least `least` and below `below`.

    Raises an exception of type `kind` if the value is not a whole number."""
    bound = f' from {least} on' if least > -2**31 else ''
    try:
        number = value.__index__()
    except Exception:  # an object's __index__ may raise any exception
        raise kind(f'{name} is {said(value)}, which cannot be interpreted as an integer: give a whole number{bound}') from None
    if number < least:
        raise ValueError(f'{name} is {said(number)}: give a whole number{bound}')
    if number >= below:
        raise ValueError(f'{name} is {said(number)}: give a whole number below 2^{below.bit_length() - 1}')
    return number


def step_count(value, name: str = 'steps', least: int = 1) -> int:
    """A number of time steps, which the library counts in 64 bits."""
    return whole(value, name, least, below=2**64)
