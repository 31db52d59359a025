"""Acoustic waves by Devito and by Stentor: velocity by place, a source and receivers off the grid.

Devito compiles its operators by gcc. Exits with 77 where it or gcc is not installed."""

import os
import shutil
import sys
import tempfile

import numpy as np

import stentor

ORDERS = range(2, 18, 2)
WAVE = '''
field u(2)
coefficient c2
stencil lap = laplace-{rank}d:order={order}
boundary u = constant=0
u.next = 2*u - u.prev + c2*lap(u)
'''
LIMIT = {np.float64: 1e-13, np.float32: 3e-5}  # for 30 steps, relative to the largest value


def by_devito(devito, order, u, before, c2, steps, signal, at, heard):
    """The last two states and the records. Past the grid's sides Devito reads zeros."""
    shape, dtype = u.shape, u.dtype.type
    grid = devito.Grid(shape=shape, extent=tuple(n - 1 for n in shape), dtype=dtype)
    wave = devito.TimeFunction(name='u', grid=grid, time_order=2, space_order=order)
    speed = devito.Function(name='c2', grid=grid, space_order=order)
    source = devito.SparseTimeFunction(name='source', grid=grid, npoint=1, nt=steps + 2, coordinates=np.array([at], dtype))
    hears = devito.SparseTimeFunction(name='hears', grid=grid, npoint=len(heard), nt=steps + 2, coordinates=np.array(heard, dtype))
    wave.data[0], wave.data[1] = before, u
    speed.data[:] = c2
    source.data[1:-1, 0] = signal
    step = devito.Eq(wave.forward, 2*wave - wave.backward + speed*wave.laplace)
    # A record is of the state that the source has been added to.
    parts = [step, source.inject(field=wave.forward, expr=source), hears.interpolate(expr=wave.forward)]
    devito.Operator(parts)(time_m=1, time_M=steps, dt=1)
    return wave.data[(steps + 1) % 3].copy(), wave.data[steps % 3].copy(), hears.data[1:-1].copy()


def check(devito, rng, order, rank, dtype):
    shape, steps = tuple(int(rng.integers(order + 2, (90, 60, 26)[rank - 1])) for _ in range(rank)), 30
    u, before = (rng.uniform(-1, 1, shape).astype(dtype) for _ in range(2))
    c2 = rng.uniform(0.02, 0.6 / rank / 2, shape).astype(dtype)
    signal = rng.uniform(-1, 1, steps).astype(dtype)
    at, *heard = [tuple(float(round(rng.uniform(0, n - 1.001), 2)) for n in shape) for _ in range(4)]
    system = stentor.System(WAVE.format(rank=rank, order=order))
    made, records = system({'u': u, 'u.prev': before}, {'c2': c2}, steps, sources=[('u', at, signal)],
                           receivers=[('u', each) for each in heard], device='host')
    wanted = by_devito(devito, order, u, before, c2, steps, signal, at, heard)
    error = max(float(np.abs(got.astype(float) - each).max() / np.abs(each).max())
                for got, each in zip((made['u'], made['u.prev'], records), wanted))
    print(f'order {order}, {rank}D {"x".join(map(str, shape))}, {np.dtype(dtype)}: {error:.2g} of {LIMIT[dtype]:.2g}', flush=True)
    return error <= LIMIT[dtype]


def main(orders):
    if not shutil.which('gcc'):
        print('waves are not compared with those of Devito: it needs gcc')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(TMPDIR=folder, DEVITO_ARCH='gcc', DEVITO_PLATFORM='cpu64', DEVITO_LANGUAGE='C', DEVITO_LOGGING='ERROR')
        tempfile.tempdir = None
        try:
            import devito
            from devito.finite_differences import finite_difference
        except ImportError as error:
            print(f'waves are not compared with those of Devito: {error}')
            return 77
        finite_difference._PRECISION = 18  # digits of the weights, of which Devito keeps nine
        seed = int(os.environ.get('STENTOR_TEST_SEED', np.random.SeedSequence().entropy % 2**32))
        rng = np.random.default_rng(seed)
        print(f'seed {seed}, Devito {devito.__version__}')
        good = [check(devito, rng, order, rank, dtype) for order in orders
                for rank, dtype in ((2, np.float64), (2, np.float32)) + (((1, np.float64), (3, np.float32)) if order % 8 == 0 else ())]
    return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main([int(each) for each in sys.argv[1:]] or ORDERS))
