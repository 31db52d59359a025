"""Random invalid arguments: each call gives a result or one clear error message."""
import decimal
import fractions
import gc
import inspect
import os
import sys
import time
import traceback
import unittest
import warnings
import weakref

import numpy as np

import stentor
from stentor import _dlpack
from stentor._problem import Layout

COUNT = int(os.environ.get('STENTOR_TEST_COUNT', '60')) * 20
FUZZ_SECONDS = float(os.environ.get('STENTOR_FUZZ_SECONDS', '300')) if 'STENTOR_TEST_FUZZ' in os.environ else 0
# scipy raises exceptions of these types.
ALLOWED = (ValueError, MemoryError, OSError, RuntimeError, IndexError, TypeError)


class Raises:
    """An object that raises an exception in every protocol."""

    def __array__(self, *given, **more):
        raise RuntimeError('no\nnumbers')

    def __index__(self):
        raise OverflowError('too much')

    __float__ = __index__

    def __len__(self):
        return 2

    def __getitem__(self, at):
        raise KeyError(at)


class Protocols:
    """An object that claims to be an array and is not one."""

    def __init__(self, interface=None, device=None):
        if interface is not None:
            self.__cuda_array_interface__ = interface
        else:
            self.device = device
            self.__dlpack_device__ = lambda: device

    def __dlpack__(self, **given):
        raise BufferError('nothing to hand over')


Protocols.__dlpack_device__ = property(lambda self: (lambda: self.device), lambda self, value: None)
READ_ONLY = np.ones((4, 5))
READ_ONLY.flags.writeable = False
ARRAYS = [
    np.ones((4, 5)), np.arange(20.0), np.float64(3), np.zeros((0, 3)), np.zeros((3, 0)), np.ones((2, 3, 2, 3, 2)), np.array([{}, None]),
    np.array(['a', 'b']), np.array([b'x']), np.array([1], 'M8[s]'), np.array([1], 'm8[s]'), np.ones((4, 5), '>f8'),
    np.ones((4, 5), np.longdouble), np.ones((4, 5), complex), np.ones((4, 5), '>c8'), np.ones(3, [('a', float)]),
    np.ma.masked_array(np.ones(4), [0, 1, 0, 0]), np.ma.masked_array(np.ones(4)), np.broadcast_to(np.ones(5), (4, 5)),
    np.ones((4, 5))[::-1, ::2], np.full((4, 5), np.nan), np.full(6, np.inf), np.full(3, 1e308), np.array(7), np.ones((1,) * 30),
    np.float16([1, 2, 3]), np.array([True, False]), READ_ONLY, [1, 2, 3], [[1, 2], [3]], [], [[]], None, 'text', b'bytes', 5, 2.5, 1j, {},
    {1: 2}, object(), int, Raises(), bytearray(8), range(5), iter([1]), decimal.Decimal(3), [fractions.Fraction(1, 3)], [None], ..., stentor,
    Protocols({}), Protocols({'shape': (3,), 'typestr': '<f8', 'data': None, 'strides': 5}), Protocols(device=7), Protocols(device=(1, 0))]
NUMBERS = [
    0, 1, -1, 2, 3, 65, 2**63, 2**64, -2**63, 10**30, 0.5, -0.5, 1e-300, 1e300, float('nan'), float('inf'), -float('inf'), 1j,
    True, None, 'a', '3', b'3', [], [1], [1, 2], (1, 2, 3), [None], [1.5, 'a'], {}, np.float32(2), np.array(2), np.array([1, 2]),
    np.array([[1]]), object(), Raises(), decimal.Decimal('1.5'), range(2), '', np.complex128(1), float, np.array({}), -0.0, [0, 0], [3, 3], 10**6, 2**31]
MODES = ['reflect', 'wrap', 'fixed', 'constant=2', 'constant=nan', 'constant=', 'constant=a', 'wrap=3', 'a', '', ':', 'wrap:nearest', 'a:b:c',
         ['wrap'], ['wrap', 'reflect'], [('constant', 'fixed')], [['wrap', 'wrap'], 'mirror'], [1, 2], 5, None, {}, b'wrap', [[]], object(),
         [('wrap', 'wrap', 'wrap')], 'constant=1e400', np.array(['wrap', 'wrap']), Raises()]
WEIGHTS = [[1, 2, 1], np.ones((3, 3)), np.ones((2, 2)), {0: 1.}, {(0, 1): 1., (0, 0): 2}, {(0, 1): 1., 0: 2}, {}, 'heat-2d', 'heat-2d:alpha=x',
           'nothing', '', 'x' * 5000, '\0', 'é', {(2**40,): 1.}, {0.5: 1}, {0: 'a'}, {0: np.nan}, np.full(3, np.nan), np.ones(131),
           np.ones((3, 3, 3)), np.ones((1, 1, 1, 1)), np.zeros(3), np.ones(3, complex), np.ones(3, '>f4'), b'heat-2d', {None: 1}, Raises()]
DTYPES = [np.float32, 'f4', 'zz', int, complex, 'O', 'S3', 'M8[s]', object, str, np.longdouble, bool, 'float64,int8', None, '>f8', 5]
SHAPES = [(4, 5), (8,), 8, (0,), (-1, 3), (2**62, 2**62), (3.5,), 'ab', None, [], (True,), {}, np.array([4, 5]), ((1,),), (10**30,), Raises()]
DEVICES = ['host', 'cuda:99', 'cpu', None, -1, 1.5, 'tpu', b'host', True, 10**30, object(), 'cuda:99999999999999999999', 'cuda:²']


class Call:
    """One call: a function's name and random arguments, in most cases with an invalid one."""

    def __init__(self, seed):
        self.rng = np.random.default_rng([99, seed])
        kinds = [self.filter, self.filter, self.transform, self.plan, self.device]
        self.said = kinds[self.rng.integers(len(kinds))]()

    def one_of(self, values):
        return values[int(self.rng.integers(len(values)))]

    def some(self, **choices):
        return {name: self.one_of(values) for name, values in choices.items() if self.rng.random() < 0.3}

    def array(self):
        return np.ones((4, 5)) if self.rng.random() < 0.5 else self.one_of(ARRAYS)

    def filter(self):
        name = self.one_of(['correlate', 'convolve', 'gaussian_filter', 'uniform_filter', 'laplace'])
        given = self.some(mode=MODES, cval=NUMBERS, axes=NUMBERS, output=DTYPES, out=ARRAYS, steps=[0, -1, 2, 1.5, None, 2**64])
        second = {'correlate': WEIGHTS + ARRAYS, 'convolve': WEIGHTS + ARRAYS, 'laplace': None}.get(name, NUMBERS)
        if name == 'gaussian_filter':
            given.update(self.some(order=NUMBERS, truncate=NUMBERS, radius=NUMBERS))
        elif name != 'laplace':
            given.update(self.some(origin=NUMBERS))
        first = [self.array()] + ([self.one_of(second)] if second else [])
        self.run = lambda: getattr(stentor, name)(*first, **given)
        return name, first, given

    def transform(self):
        name = self.one_of([name for name in stentor.fft.__all__ if 'norm' in inspect.signature(getattr(stentor.fft, name)).parameters])
        sizes = NUMBERS[:-2]  # without the sizes that might be allocated
        given = self.some(norm=[None, 'ortho', 'x', 5, [], {}], **(dict(s=sizes, axes=NUMBERS) if name[-1] in '2n' else dict(n=sizes, axis=NUMBERS)))
        x = self.array()
        self.run = lambda: getattr(stentor.fft, name)(x, **given)
        return name, x, given

    def plan(self):
        given = self.some(boundary=MODES, dtype=DTYPES, steps=[0, 3, 1.5, None, 2**64, 'a'], every=NUMBERS, source=[0, 1, None], device=DEVICES,
                          tolerance=NUMBERS, strategy=['host', 'direct', 'x', 5, '', 'a' * 3000, b'host'], tune=NUMBERS)
        given.setdefault('device', 'host')
        shape, weights = (self.one_of(SHAPES), self.one_of(WEIGHTS)) if self.rng.random() < 0.5 else ((4, 5), 'heat-2d')
        x, call, new = self.array(), self.some(out=ARRAYS, stream=NUMBERS, source=ARRAYS), self.one_of(WEIGHTS)

        def run():
            plan = stentor.Plan(shape, weights, **given)
            plan(x, **call)
            plan.describe(call.get('stream', 'text'))
            plan.weights = new

        self.run = run
        return 'Plan', shape, weights, given, x, call, new

    def device(self):
        x, where, shape, dtype = self.array(), self.one_of(DEVICES), self.one_of(SHAPES), self.one_of(DTYPES)
        if self.rng.random() < 0.5:
            self.run = lambda: stentor.to_device(x, where)
        else:
            self.run = lambda: stentor.DeviceArray(shape, dtype, where)
        return 'device', x, where, shape, dtype


class Hostile(unittest.TestCase):
    def test_by_chance(self):
        refused = 0
        for seed in range(COUNT):
            call = Call(seed)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter('error')
                    # scipy gives the same warning.
                    warnings.filterwarnings('ignore', 'promoting specified output dtype', UserWarning)
                    call.run()
            except ALLOWED as error:
                refused += 1
                message, raiser = str(error), traceback.extract_tb(error.__traceback__)[-1].filename
                good = message and '\n' not in message and len(message) < 400 and 'stentor' in raiser
                self.assertTrue(good, f'seed {seed}: {call.said!r} says {message!r}, from {raiser}')
            except Exception as error:
                self.fail(f'seed {seed}: {call.said!r} raises {error!r}, {traceback.format_exc()}')
        self.assertTrue(COUNT // 5 < refused < COUNT, refused)


class Null:
    """A DLPack tensor with a shape and a null data pointer."""

    def __init__(self, shape):
        self.shape = shape

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **given):
        return _dlpack.capsule(self, 0, Layout.dense(self.shape), np.dtype('float64'), (1, 0))


class NoMemory(unittest.TestCase):
    def test_tensors_without_memory(self):
        for shape in ((4,), (2, 3)):
            with self.assertRaisesRegex(ValueError, 'NULL'):
                stentor.laplace(Null(shape))
        self.assertEqual(stentor.laplace(Null((3, 0))).shape, (3, 0))
        with self.assertRaisesRegex(ValueError, 'NULL'):
            stentor.laplace(Protocols({'shape': (3,), 'typestr': '<f8', 'data': (0, False)}))

    def test_tensors_that_no_memory_holds(self):
        ffi = _dlpack._ffi
        memory = ffi.new('double[]', 6)
        for shape, strides in (((3, 2), (1, 2**61)), ((2, 2**62), (1, 0)), ((2**61, 2**3), (0, 0))):
            kept = ffi.new('int64_t[]', shape), ffi.new('int64_t[]', strides)
            tensor = ffi.new('DLManagedTensor *').tensor
            tensor.data, tensor.ndim, tensor.shape, tensor.strides = memory, 2, kept[0], kept[1]
            tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = 2, 64, 1
            with self.assertRaisesRegex(ValueError, 'no memory is so large'):
                _dlpack._layout_of(tensor)


class Foreign:
    """A DLPack tensor of random fields, some of them wrong, over memory that is large enough."""

    def __init__(self, rng):
        ffi = _dlpack._ffi
        self.taken = self.deleted = 0
        few = lambda *values: values[int(rng.integers(len(values)))]
        self.ndim = few(0, 1, 1, 2, 2, 3, 4, 33, 65, -1, 2**31 - 1)
        count = max(0, min(self.ndim, 70))
        wrong = rng.random() < 0.3
        self.shape = [few(0, 1, 2, 3, -1, 2**62) if wrong and count < 5 else few(1, 2, 3) if count < 5 else 1 for _ in range(count)]
        strides = [few(0, 1, -1, 2, 3, 2**61) if wrong else few(1, 2, 3, 9) for _ in range(count)]
        self.memory = ffi.new('double[]', 8192)
        self.kept = ffi.new('int64_t[]', self.shape or [0]), ffi.new('int64_t[]', strides or [0]), ffi.new('DLManagedTensor *')
        # A weak reference: a cycle would keep the memory until a full collection.
        this = weakref.ref(self)
        self.kept_deleter = ffi.callback('void(DLManagedTensor *)', lambda managed: this().delete(managed))
        tensor = self.kept[2].tensor
        tensor.data = ffi.cast('void *', int(ffi.cast('uintptr_t', self.memory)) + 4096 * 8) if rng.random() < 0.95 else ffi.NULL
        tensor.device.type, tensor.device.id = few(1, 1, 1, 2, 3, 13, 0, 99, -1), few(0, 0, 1, -1, 2**31 - 1)
        tensor.ndim, tensor.shape = self.ndim, self.kept[0]
        tensor.strides = self.kept[1] if rng.random() < 0.7 else ffi.NULL
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = few(2, 2, 2, 0, 1, 3, 4, 5, 6, 17, 255), few(64, 64, 32, 16, 8, 1, 7, 0, 255), few(1, 1, 1, 0, 2)
        tensor.byte_offset = few(0, 0, 8, 1)
        self.kept[2].deleter = self.kept_deleter if rng.random() < 0.9 else ffi.NULL
        self.device = tensor.device.type, tensor.device.id
        self.name = few(_dlpack._FRESH, _dlpack._FRESH, _dlpack._FRESH, b'used_dltensor', b'something')

    def delete(self, managed):
        self.deleted += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **given):
        return _dlpack._new(int(_dlpack._ffi.cast('uintptr_t', self.kept[2])), self.name, None)


class Capsules(unittest.TestCase):
    def test_by_chance(self):
        """A capsule of another library is read, or refused with one sentence."""
        number = read = 0
        end = time.monotonic() + FUZZ_SECONDS
        seed = int(os.environ.get('STENTOR_TEST_SEED', time.time_ns() % 2**32))
        while number < COUNT or time.monotonic() < end:
            said = f'STENTOR_TEST_SEED={seed}, number {number}'
            given = Foreign(np.random.default_rng([seed, number]))
            try:
                if given.device[0] in (2, 13):
                    taken = _dlpack.take(given.__dlpack__())
                    self.assertEqual(taken.layout.shape, tuple(given.shape), said)
                    del taken
                else:
                    stentor.laplace(given)
                read += 1
            except ALLOWED as error:
                message, raiser = str(error), traceback.extract_tb(error.__traceback__)[-1].filename
                self.assertTrue(message and '\n' not in message and len(message) < 400 and 'stentor' in raiser, f'{said}: {message!r} from {raiser}')
            except Exception as error:
                self.fail(f'{said} raises {error!r}, {traceback.format_exc()}')
            gc.collect(0)
            self.assertLessEqual(given.deleted, 1, said)
            number += 1
        print(f'{number} capsules, {read} of which were read', file=sys.stderr)
        self.assertTrue(number // 40 < read < number, read)


class ManySteps(unittest.TestCase):
    """The library counts steps in 64 bits."""

    def test_from_2_to_the_63_on(self):
        x = np.random.default_rng(0).standard_normal(8)
        for steps in (2**63 - 1, 2**63, 2**64 - 1):
            plan = stentor.Plan((8,), [0.25, 0.5, 0.25], steps=steps, device='host')
            self.assertEqual(plan.steps, steps)
            np.testing.assert_allclose(plan(x), np.full(8, x.mean()), atol=1e-12)
            np.testing.assert_allclose(stentor.correlate(x, [0.25, 0.5, 0.25], mode='wrap', steps=steps), np.full(8, x.mean()), atol=1e-12)
        for steps in (2**64, 10**5000):
            with self.assertRaisesRegex(ValueError, r'steps .* below 2\^64'):
                stentor.Plan((8,), [0.25, 0.5, 0.25], steps=steps, device='host')


if __name__ == '__main__':
    unittest.main()
