"""Callbacks during a run: the caller's progress function, and Python's signal handlers (Ctrl-C)."""

import sys
import threading
import warnings
from typing import Any, Callable, List, Optional

from ._library import ffi, lib
from ._words import said

SIGNALS = 0.05  # seconds between two checks for signals
LONG = 5e-3  # seconds: runs predicted to take longer check for signals
_cast, _null = ffi.cast, ffi.NULL


class _Here(threading.local):
    """The progress function of the current thread's calls."""

    progress: Optional[Callable[[int, int], Any]] = None


here = _Here()


def may_handle_signals() -> bool:
    """Whether this is the main thread, on which alone Python runs signal handlers."""
    return threading.current_thread() is threading.main_thread()


class Watch:
    """The C progress callback of one call of the library.

    An exception raised in it, including KeyboardInterrupt, cancels the call, and `check` raises it
    again."""

    def __init__(self) -> None:
        self._progress, self._raised = here.progress, None  # type: ignore[var-annotated]
        self.function = ffi.callback('int(void *, uint64_t, uint64_t)', self._listen, error=1, onerror=self._failed)

    def _listen(self, user: Any, done: int, total: int) -> int:
        if self._progress is not None:
            self._progress(done, total)
        return 0

    def _failed(self, kind: Any, error: Any, traceback: Any) -> None:
        self._raised = error if self._raised is None else self._raised

    def check(self) -> None:
        """Raises the callback's exception, if there was one, and frees the callback."""
        raised, self._raised, self.function = self._raised, None, None
        if raised is not None:
            raise raised


class Bar:
    """A progress bar: tqdm's, or a line on stderr if tqdm is not installed."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._drawn = False
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped]
            self._make: Any = tqdm
        except ImportError:
            self._make = None

    def __call__(self, done: int, total: int) -> None:
        if self._make is not None:
            if self._bar is None or self._bar.total != total:
                self.close()
                self._bar = self._make(total=total, unit='step')
            self._bar.update(done - self._bar.n)
            return
        self._drawn = True
        filled = 30 * done // total if total else 30
        sys.stderr.write(f'\r[{"#" * filled}{"." * (30 - filled)}] step {done} of {total} ')
        sys.stderr.flush()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        elif self._drawn:
            sys.stderr.write('\n')
            self._drawn = False


class watched:
    """A context manager that sets the progress function of this thread's calls.

    `progress` is a function of the steps done and of all steps, True for a bar, or None."""

    def __init__(self, progress: Any) -> None:
        self._bar = Bar() if progress is True else None
        self._progress = self._bar if progress is True else progress
        if progress is not None and progress is not False and not callable(self._progress):
            raise ValueError(f'progress is {said(progress)}: give a function of the steps done and of all steps, or True for a bar')

    def __enter__(self) -> None:
        self._before = here.progress
        here.progress = self._progress or None

    def __exit__(self, *raised: Any) -> None:
        here.progress = self._before
        if self._bar is not None:
            self._bar.close()


def call_with_progress(progress: Any, function: Callable, *given: Any, **named: Any) -> Any:
    """Calls a function with `progress` as the progress function, and returns its result."""
    with watched(progress):
        return function(*given, **named)


def interruptible(make: Callable[[], Any]) -> Any:
    """The result of a function that works in the library for long without calling a Watch.

    On the main thread, another thread calls it, so that Ctrl-C is handled at once. The function
    then runs to its end or until the process exits, and its result is dropped. If no thread can be
    started, this thread calls the function, and Ctrl-C waits for its end."""
    if not may_handle_signals():
        return make()
    made: List[Any] = []
    raised: List[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            made.append(make())
        except BaseException as error:
            raised.append(error)
        ended.set()

    try:
        threading.Thread(target=run, name='stentor tables', daemon=True).start()
    except RuntimeError:  # a limit of the system, or the interpreter is shutting down
        return make()
    while not ended.wait(SIGNALS):
        pass
    if raised:
        raise raised[0]
    return made[0]


def warn_of_growth(stencil: Any, steps: int) -> None:
    """Issues a RuntimeWarning before a run of several steps with growing modes, as the command."""
    if steps < 2:
        return
    symbol = lib.stn_stencil_max_symbol(stencil)
    # An excess within rounding error that does not double any mode in the run gives no warning.
    if symbol <= 1 or symbol <= 1 + 1e-6 and (symbol - 1) * steps < 0.69:
        return
    warn_caller(f'max |symbol| is {symbol:.7g}, above 1: this stencil grows without bound in a long run, by up to a factor of '
                f'{symbol:.7g}^{steps} in these {steps} steps')


def warn_caller(message: str) -> None:
    """Issues a RuntimeWarning at the line of the caller's code that called the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get('__name__', '').partition('.')[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, RuntimeWarning, stacklevel=level)
