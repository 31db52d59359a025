"""Wrong arguments in the words of an exception, and the simplest of what is checked."""


def said(value) -> str:
    """A wrong argument, as a sentence can quote it."""
    try:
        text = ' '.join(repr(value).split())
    except Exception:
        text = f'a {type(value).__name__}'
    return text if len(text) <= 80 else text[:76] + ' ...'


def brief(error: BaseException) -> str:
    """What another library's exception says, in one line."""
    return (' '.join(str(error).split()) or type(error).__name__)[:200]


def listed(value, name: str) -> list:
    """What a sequence holds; a ValueError says that it is none."""
    try:
        if isinstance(value, (str, bytes, dict)):
            raise TypeError
        return list(value)
    except Exception:
        raise ValueError(f'{name} is {said(value)}: give a sequence') from None


def whole(value, name: str, least: int, kind: type = ValueError, below: int = 2**63) -> int:
    """A whole number, at least `least` and below `below`. What is no whole number is an exception of `kind`."""
    try:
        number = value.__index__()
    except Exception:  # whatever a caller's class raises
        raise kind(f'{name} is {said(value)}, which cannot be interpreted as an integer: give a whole number from {least} on') from None
    if number < least:
        raise ValueError(f'{name} is {said(number)}: give a whole number from {least} on')
    if number >= below:
        raise ValueError(f'{name} is {said(number)}: give a whole number below 2^{below.bit_length() - 1}')
    return number


def step_count(value, name: str = 'steps', least: int = 1) -> int:
    """A number of time steps, which the library counts in 64 bits."""
    return whole(value, name, least, below=2**64)
