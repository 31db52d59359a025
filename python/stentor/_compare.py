"""The command bench: the time of one problem with Stentor and other installed libraries.

Libraries are imported only by this command. A library that cannot run the problem is listed with
the reason.
"""

import argparse
import statistics
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

import stentor

from ._arguments import number
from ._context import HOST, device_number
from ._number_types import dtype_of
from ._stencil import named_taps

USAGE = """usage: python3 -m stentor bench [--compare] (--stencil NAME | --taps FILE.npy | --gaussian SIGMA | --uniform SIZE |
                                     --fft | --rfft | --dct) (--in FILE.npy | --size 4096x4096)
                                    [--dtype f32] [--boundary reflect] [--steps 1] [--device auto] [--seconds 0.5]"""
# Names of Stentor's boundaries in other libraries, which lack the boundaries that are not listed.
SCIPY = {'wrap': 'grid-wrap', 'reflect': 'reflect', 'mirror': 'mirror', 'nearest': 'nearest', 'constant': 'constant'}
TORCH = {'wrap': 'circular', 'mirror': 'reflect', 'nearest': 'replicate', 'constant': 'constant'}
CV2 = {'reflect': 'BORDER_REFLECT', 'mirror': 'BORDER_REFLECT_101', 'nearest': 'BORDER_REPLICATE', 'constant': 'BORDER_CONSTANT'}
FFTS = {'fft': 'fftn', 'rfft': 'rfftn', 'dct': 'dctn'}


class Unable(Exception):
    """The library cannot run this problem; the text says why."""


class Problem(NamedTuple):
    """The measured problem: `kind` is 'stencil', 'gaussian', 'uniform', 'fft', 'rfft' or 'dct'."""
    kind: str
    x: np.ndarray
    weights: Optional[np.ndarray]
    size: float  # sigma of a Gaussian, or the side of a box
    boundary: str
    steps: int
    device: int

    def mode(self, names: Dict[str, str]) -> str:
        if self.boundary not in names:
            raise Unable(f'it has no boundary {self.boundary!r}')
        return names[self.boundary]


class Prepared(NamedTuple):
    """A call that is ready to be timed."""
    where: str  # 'host' or 'GPU'
    call: Callable[[], Any]
    wait: Callable[[], Any]  # returns when the work of all calls is done
    read: Callable[[Any], np.ndarray]


def nothing() -> None:
    """Waits for work on the host, which is done when a call returns."""


def repeated(step: Callable[[Any], Any], x: Any, steps: int) -> Callable[[], Any]:
    def call() -> Any:
        y = x
        for _ in range(steps):
            y = step(y)
        return y
    return call


def ours(p: Problem) -> Prepared:
    wait: Callable[[], Any]
    read: Callable[[Any], np.ndarray]
    x, wait, read, where = p.x, nothing, np.asarray, 'host'
    if p.device != HOST:
        array = stentor.to_device(p.x, p.device)
        x, where = array, 'GPU'  # type: ignore[assignment]
        wait, read = lambda: array._home.synchronize(0), lambda y: y.numpy()
    if p.kind == 'stencil':
        plan = stentor.Plan(p.x.shape, p.weights, boundary=p.boundary, dtype=p.x.dtype, steps=p.steps,
                            device='host' if p.device == HOST else p.device)
        return Prepared(where, lambda: plan(x), wait, read)
    return Prepared(where, like_scipy(p, stentor, stentor.fft, x, None, {p.boundary: p.boundary}), wait, read)


def like_scipy(p: Problem, ndimage: Any, fft: Any, x: Any, weights: Any, modes: Dict[str, str] = SCIPY) -> Callable[[], Any]:
    """The call of a library with the names of scipy."""
    if p.kind in FFTS:
        return lambda: getattr(fft, FFTS[p.kind])(x)
    mode = p.mode(modes)
    if p.kind == 'stencil':
        return repeated(lambda y: ndimage.correlate(y, weights, mode=mode), x, p.steps)
    if p.kind == 'gaussian':
        return repeated(lambda y: ndimage.gaussian_filter(y, p.size, mode=mode), x, p.steps)
    return repeated(lambda y: ndimage.uniform_filter(y, int(p.size), mode=mode), x, p.steps)


def by_scipy(p: Problem) -> Prepared:
    import scipy.fft
    import scipy.ndimage
    return Prepared('host', like_scipy(p, scipy.ndimage, scipy.fft, p.x, p.weights), nothing, np.asarray)


def by_cupyx(p: Problem) -> Prepared:
    import cupy
    import cupyx.scipy.fft
    import cupyx.scipy.ndimage
    if p.device == HOST:
        raise Unable('it runs on GPUs only')
    with cupy.cuda.Device(p.device):
        x, weights = cupy.asarray(p.x), None if p.weights is None else cupy.asarray(p.weights)
    return Prepared('GPU', like_scipy(p, cupyx.scipy.ndimage, cupyx.scipy.fft, x, weights), cupy.cuda.Device(p.device).synchronize, cupy.asnumpy)


def by_torch(p: Problem) -> Prepared:
    import torch
    on_host = p.device == HOST
    if not on_host and not torch.cuda.is_available():
        raise Unable('this PyTorch finds no GPU')
    place = 'cpu' if on_host else f'cuda:{p.device}'
    x = torch.from_numpy(p.x).to(place)
    wait, where = (nothing, 'host') if on_host else (torch.cuda.synchronize, 'GPU')
    if p.kind == 'dct':
        raise Unable('it has no cosine transform')
    if p.kind in FFTS:
        return Prepared(where, lambda: getattr(torch.fft, FFTS[p.kind])(x), wait, lambda y: y.cpu().numpy())
    if p.kind == 'stencil':
        assert p.weights is not None
        passes = [p.weights]
    else:
        passes = [line.reshape([-1 if a == axis else 1 for a in range(x.ndim)]) for axis in range(x.ndim) for line in [line_of(p)]]
    mode, rank = p.mode(TORCH), passes[0].ndim
    if x.ndim != rank or rank > 3:
        raise Unable('its convolutions have no batch of images without channels' if x.ndim != rank else 'it has at most three axes')
    if min(x.shape) <= max(each for line in passes for each in line.shape) // 2:
        raise Unable('the weights reach further than the array')
    convolve = getattr(torch.nn.functional, f'conv{rank}d')
    filters = [(torch.from_numpy(np.ascontiguousarray(w, p.x.dtype)).to(place)[None, None],
                [each for n in reversed(w.shape) for each in (n // 2, n // 2)]) for w in passes]

    def step(y: Any) -> Any:
        for weights, pads in filters:
            y = convolve(torch.nn.functional.pad(y, pads, mode=mode), weights)
        return y

    return Prepared(where, repeated(step, x[None, None], p.steps), wait, lambda y: y[0, 0].cpu().numpy())


def line_of(p: Problem) -> np.ndarray:
    """The weights of a Gaussian or of a box along one axis, as scipy has them."""
    if p.kind == 'uniform':
        if p.size % 2 == 0:
            raise Unable('its boxes of even size have another centre')
        return np.full(int(p.size), 1 / p.size)
    reach = int(4 * p.size + 0.5)
    line = np.exp(-0.5 * (np.arange(-reach, reach + 1) / p.size) ** 2)
    return line / line.sum()


def by_cv2(p: Problem) -> Prepared:
    import cv2
    if p.device != HOST:
        raise Unable('it runs on the host only')
    if p.kind in FFTS or p.x.ndim != 2 or p.x.dtype == np.float16:
        raise Unable('it filters float32 and float64 on two axes')
    border = getattr(cv2, p.mode(CV2))
    weights = p.weights
    if weights is not None:
        return Prepared('host', repeated(lambda y: cv2.filter2D(y, -1, weights, borderType=border), p.x, p.steps), nothing, np.asarray)
    line = line_of(p)
    return Prepared('host', repeated(lambda y: cv2.sepFilter2D(y, -1, line, line, borderType=border), p.x, p.steps), nothing, np.asarray)


OTHERS: List[Tuple[str, str, Callable[[Problem], Prepared]]] = [
    ('scipy', 'scipy', by_scipy), ('cupyx', 'cupy', by_cupyx), ('torch', 'torch', by_torch), ('cv2', 'cv2', by_cv2)]


def seconds_of(prepared: Prepared, least: float) -> float:
    """The median time of a call: of at least 7 samples, each of which takes 5 ms or one call."""
    def sample(count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            prepared.call()
        prepared.wait()
        return (time.perf_counter() - started) / count

    prepared.call()
    prepared.wait()
    once = sample(1)
    count = max(1, int(5e-3 / max(once, 1e-7)))
    samples: List[float] = []
    started = time.perf_counter()
    while len(samples) < 7 or time.perf_counter() - started < least:
        samples.append(sample(count))
    return statistics.median(samples)


def row(name: str, module: str, prepare: Callable[[Problem], Prepared], p: Problem, least: float, reference: Optional[np.ndarray]) -> Dict[str, Any]:
    """A library's row of the table: its time and result, or the reason why it has none."""
    try:
        version = __import__(module).__version__
        prepared = prepare(p)
        result = prepared.read(prepared.call())
        found = {'name': f'{name} {version}', 'where': prepared.where, 'seconds': seconds_of(prepared, least), 'result': result}
        if reference is not None:
            if result.shape != reference.shape:
                raise Unable(f'its result has the shape {result.shape}')
            scale = np.abs(reference).max() or 1.0
            found['difference'] = float(np.abs(result - reference).max() / scale)
        return found
    except ImportError:
        return {'name': name, 'reason': 'it is not installed'}
    except Unable as reason:
        return {'name': name, 'reason': str(reason)}
    except Exception as error:  # other libraries may raise any exception
        return {'name': name, 'reason': f'{type(error).__name__}: {str(error).splitlines()[0] if str(error) else "no message"}', 'error': error}


def table(rows: List[Dict[str, Any]]) -> str:
    timed = [each for each in rows if 'seconds' in each]
    width = max(len(each['name']) for each in timed)
    lines = [f'{"library":{width}}  where  time a call  times ours  difference']
    for each in timed:
        ratio, difference = each['seconds'] / timed[0]['seconds'], each.get('difference')
        lines.append(f'{each["name"]:{width}}  {each["where"]:5}  {1e3 * each["seconds"]:8.4g} ms  {ratio:10.3g}  '
                     + ('-' if difference is None else f'{difference:.1e}'))
    return '\n'.join(lines + [f'{each["name"]} is left out: {each["reason"]}' for each in rows if 'reason' in each])


def problem_of(given: argparse.Namespace) -> Problem:
    if given.input is not None:
        x = np.load(given.input)
        if x.dtype.kind == 'c':
            raise ValueError(f'{given.input} holds complex numbers: give real ones')
        x = x if given.dtype is None and x.dtype.kind == 'f' else x.astype(dtype_of(given.dtype or 'float64'))
    else:
        shape = tuple(int(each) for each in given.size.replace(',', 'x').split('x'))
        x = np.random.default_rng(0).standard_normal(shape).astype(dtype_of(given.dtype or 'float32'))
    weights, size = None, 0.0
    if given.stencil is not None:
        taps = named_taps(given.stencil)
        reach = [max(pair) for pair in taps.reach()]
        weights = np.zeros([2 * r + 1 for r in reach])
        weights[tuple((taps.offsets + reach).T)] = taps.weights
    elif given.taps is not None:
        weights = np.load(given.taps).astype(np.float64)
    kinds = [each for each in ('gaussian', 'uniform', *FFTS) if getattr(given, each) is not None and getattr(given, each) is not False]
    kind = 'stencil' if weights is not None else kinds[0]
    if kind in ('gaussian', 'uniform'):
        size = number(getattr(given, kind), kind)
    if given.steps < 1 or (kind in FFTS and given.steps != 1):
        raise ValueError(f'steps is {given.steps}: give a whole number from 1 on, and 1 for transforms')
    return Problem(kind, x, weights, size, given.boundary, given.steps, device_number(given.device))


def bench(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog='stentor bench', usage=USAGE[7:], description='Measures one problem in Stentor and, with --compare, in '
                                     'scipy, cupyx, torch and cv2, as far as they are installed and can run it.')
    kind, data = parser.add_mutually_exclusive_group(required=True), parser.add_mutually_exclusive_group(required=True)
    kind.add_argument('--stencil', help="a stencil's name, such as heat-2d:alpha=0.2")
    kind.add_argument('--taps', help='a .npy file of weights')
    kind.add_argument('--gaussian', type=float, help='a Gaussian filter of this sigma')
    kind.add_argument('--uniform', type=int, help='the mean of boxes of this side')
    for name in FFTS:
        kind.add_argument('--' + name, action='store_true', help=f'the transform {FFTS[name]}')
    data.add_argument('--in', dest='input', help='a .npy file')
    data.add_argument('--size', help='the size of an array of random numbers')
    parser.add_argument('--compare', action='store_true', help='the other libraries too')
    parser.add_argument('--dtype', help='f64, f32 or f16')
    parser.add_argument('--boundary', '--mode', default='reflect', help="'reflect', 'wrap', 'mirror', 'nearest', 'constant' or 'fixed'")
    parser.add_argument('--steps', type=int, default=1, help='how many times the stencil or filter is applied')
    parser.add_argument('--device', default='auto', help="'auto', 'host', 'cuda' or 'cuda:N'")
    parser.add_argument('--seconds', type=float, default=0.5, help='the time to measure each library for')
    given = parser.parse_args(arguments)
    p = problem_of(given)
    first = row('stentor', 'stentor', ours, p, given.seconds, None)
    if 'reason' in first:
        raise first.get('error') or ValueError(f'Stentor cannot run this problem: {first["reason"]}')
    rows = [first]
    if given.compare:
        rows += [row(*each, p, given.seconds, first['result']) for each in OTHERS]
        if p.device != HOST:
            rows.append(row('stentor', 'stentor', ours, p._replace(device=HOST), given.seconds, first['result']))
    what = ' '.join(str(each) for each in (p.kind, f'{p.size:g}' if p.size else '', 'x'.join(map(str, p.x.shape)), p.x.dtype,
                                           '' if p.kind in FFTS else p.boundary, f'{p.steps} steps' if p.steps > 1 else '') if str(each))
    print(what + '\n' + table(rows))
    return 0
