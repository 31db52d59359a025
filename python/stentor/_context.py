"""One library context for each device, made when first needed; settings; names of devices."""

import logging
import operator
import os
from typing import Any, Callable, Optional, Sequence, Union

from ._errors import check, new_error
from ._library import ffi, lib, take_text
from ._locks import new_lock
from ._memo import clear_cache
from ._progress import Watch, may_handle_signals
from ._words import listed, said, whole

HOST = -1
LEVELS = ('debug', 'info', 'warning', 'error')
_contexts: dict = {}
_lock = new_lock()
_settings: dict = {'threads': 0, 'cache_dir': '', 'packs': (), 'trust': '', 'cache_shared': False, 'log': None}
_KEEP: Any = object()
_callbacks: list = []  # log callbacks, kept until the process ends, as the contexts are


def context_options() -> Any:
    """A stn_context_options with the settings of `configure`, and the objects that it points to."""
    options = ffi.new('stn_context_options *', {'struct_size': ffi.sizeof('stn_context_options')})
    options.threads, options.cache_shared = _settings['threads'], _settings['cache_shared']
    kept = [ffi.new('char[]', os.fsencode(_settings['cache_dir']))]
    kept += [ffi.new('char[]', os.fsencode(pack)) for pack in _settings['packs']]
    options.cache_dir = kept[0]
    trust = ffi.new('char[]', os.fsencode(_settings['trust']))
    options.trust = trust
    if _settings['packs']:
        packs = ffi.new('char *[]', kept[1:] + [ffi.NULL])
        options.packs = ffi.cast('const char *const *', packs)
        kept.append(packs)
    kept.append(trust)
    if _settings['log'] is not None:
        options.log = _settings['log']
    return options, kept


class Context:
    """The context of a device: HOST, a GPU's number, or None for the first GPU, else the host.

    It is never destroyed: it must outlive its plans, and at exit Python destroys objects in any
    order."""

    def __init__(self, device: Optional[int]):
        options, kept = context_options()
        options.device = lib.STN_DEVICE_AUTO if device is None else lib.STN_DEVICE_HOST if device == HOST else device + 1
        made, error = ffi.new('stn_context **'), new_error()
        check(lib.stn_context_create(options, made, error), error)
        del kept  # not freed before this point
        self.handle = made[0]
        self.device = device

    def describe(self, format_: int) -> str:
        """The devices and components that the context found, as text (STN_TEXT) or JSON."""
        made, error = ffi.new('char **'), new_error()
        check(lib.stn_context_describe(self.handle, format_, made, error), error)
        return take_text(made)

    def synchronize(self, stream: int) -> None:
        """Waits for all work on a stream; on the main thread Ctrl-C interrupts the wait."""
        error = new_error()
        if self.device == HOST or not may_handle_signals():
            check(lib.stn_synchronize(self.handle, ffi.cast('void *', stream), error), error)
            return
        watch = Watch()
        status = lib.stn_synchronize_with_progress(self.handle, ffi.cast('void *', stream), watch.function, ffi.NULL, error)
        watch.check()
        check(status, error)

    def wait(self) -> None:
        """Waits for all work on the device: in all streams, even those that have been destroyed.

        It frees a small allocation, which synchronizes the device."""
        made, error = ffi.new('void **'), new_error()
        check(lib.stn_memory_alloc(self.handle, 1, made, error), error)
        lib.stn_memory_free(self.handle, made[0])


def configure(*, threads: int = _KEEP, cache_dir: Union[None, str, os.PathLike] = _KEEP, packs: Sequence[Union[str, os.PathLike]] = _KEEP,
              cache_shared: bool = _KEEP, trust: Union[None, str, os.PathLike] = _KEEP, log: Union[None, str, Callable[[str, str], Any]] = _KEEP) -> None:
    """Change the settings of all later calls of the package. An argument left out keeps its value.

    Call it first: it clears the plans that functions have cached, and existing plans keep the
    settings that they were made with.

    Parameters
    ----------
    threads : int, optional
        The number of host threads; 0 means all processors that this process may use.
    cache_dir : path or None, optional
        The folder of compiled kernels and measured times. None takes it from the environment
        (STENTOR_CACHE_DIR, XDG_CACHE_HOME, HOME); ':memory:' writes no files.
    packs : sequence of paths, optional
        Files of precompiled kernels, which are searched first, for machines without NVRTC.
    cache_shared : bool, optional
        Whether to accept a cache folder that other users own or may write to.
    trust : str, path or None, optional
        The public key of ``stentor pack keys``, as 64 hex digits or a file that begins with them:
        packs are used only if they are signed by it. None, the default, asks for no signatures.
    log : str, callable or None, optional
        With 'debug', 'info', 'warning' or 'error', messages of at least that level go to Python's
        logger 'stentor'. A function of (level, message) gets all messages, and may be called from
        any thread. None, the default, disables the log.

    Returns
    -------
    None

    Examples
    --------
    >>> import stentor
    >>> stentor.configure(threads=2, cache_dir=':memory:', log='warning')
    >>> stentor.configure(threads=0, cache_dir=None, log=None)
    """
    given: dict = {name: value for name, value in (('threads', threads), ('cache_dir', cache_dir), ('packs', packs),
                                             ('cache_shared', cache_shared), ('trust', trust), ('log', log)) if value is not _KEEP}
    if 'threads' in given and not 0 <= whole(given['threads'], 'threads', 0) <= 4096:
        raise ValueError(f'threads is {threads}: give 0 to 4096')
    if 'cache_dir' in given:
        given['cache_dir'] = '' if cache_dir is None else _path(cache_dir, 'cache_dir')
    if 'packs' in given:
        given['packs'] = tuple(_path(each, 'a pack') for each in listed(packs, 'packs'))
        missing = [each for each in given['packs'] if not os.path.isfile(each)]
        if missing:
            raise ValueError(f'there is no pack {missing[0]!r}: name files that exist')
    if 'cache_shared' in given:
        given['cache_shared'] = bool(cache_shared)
    if 'trust' in given:
        given['trust'] = '' if trust is None else _path(trust, 'trust')
    if 'log' in given:
        given['log'] = _log_callback(log)
    with _lock:
        _settings.update(given)
        _contexts.clear()
    clear_cache()


def _path(value: Any, name: str) -> str:
    try:
        return os.fspath(value)
    except TypeError:
        raise ValueError(f'{name} is {said(value)}: give a path') from None


def _log_callback(log: Any) -> Any:
    """The C callback for the argument `log` of `configure`, or None to disable the log."""
    if log is None:
        return None
    if not callable(log) and log not in LEVELS:
        raise ValueError(f"log is {said(log)}: give None, a function, or one of {', '.join(map(repr, LEVELS))}")
    logger, least = logging.getLogger('stentor'), 0 if callable(log) else LEVELS.index(log)
    numbers = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)

    @ffi.callback('void(void *, stn_log_level, const char *)')
    def called(user: Any, level: int, message: Any) -> None:
        text = ffi.string(message).decode(errors='replace')
        if callable(log):
            log(LEVELS[level], text)
        elif level >= least:
            logger.log(numbers[level], '%s', text)

    _callbacks.append(called)
    return called


def context(device: int) -> Context:
    """The context of a device, made at the first call."""
    found = _contexts.get(device)
    if found is None:
        with _lock:
            found = _contexts.get(device)
            if found is None:
                found = _contexts[device] = Context(device)
    return found


def device_number(device) -> int:
    """A GPU's number, or HOST, from a caller's argument.

    The argument is 'host', 'cpu', 'cuda', 'cuda:1', 1, 'auto' or a torch.device."""
    if not isinstance(device, (str, bool)) and hasattr(device, '__index__'):
        device = operator.index(device)
    name = str(device) if isinstance(device, (str, int)) or type(device).__module__ == 'torch' else ''
    if name in ('host', 'cpu'):
        return HOST
    if name == 'auto':
        return _automatic()
    if name.startswith('gpu'):
        name = 'cuda' + name[len('gpu'):]
    if name == 'cuda':
        return 0
    digits = name[len('cuda:'):] if name.startswith('cuda:') else name
    if digits.isascii() and digits.isdecimal() and len(digits) < 9 and not isinstance(device, bool):
        return int(digits)
    raise ValueError(f"device is {' '.join(repr(device).split())[:80]}: give 'host', 'cuda', 'cuda:N', a GPU's number, or 'auto'")


def device_name(device: int) -> str:
    return 'host' if device == HOST else f'cuda:{device}'


def _automatic() -> int:
    """The first GPU if it can be used, else the host."""
    try:
        context(0)
    except Exception:  # no usable GPU, for whatever reason
        return HOST
    return 0


def _after_fork() -> None:
    """Makes a forked child create its own contexts.

    The threads of its parent's contexts do not exist in the child, and CUDA does not survive a
    fork."""
    _contexts.clear()


os.register_at_fork(after_in_child=_after_fork)
