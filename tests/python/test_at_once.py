"""Operator calls that skip PyTorch's dispatcher.

They must not skip it if a mode, transform or gradient is active, and must use the current weights.
"""
import itertools
import unittest
import warnings

import numpy as np
from tensors import DEVICES, tensor, torch

import stentor
import stentor.torch
import test_plan
from stentor._eager import is_eager


def stencil_of(x, w):
    """The expected result, by a new plan on the host."""
    numbers = w.double().numpy(force=True).copy()
    plan = stentor.Plan(tuple(x.shape), numbers, boundary='mirror', device='host', strategy='host')
    return plan(x.double().numpy(force=True))


class Weights(unittest.TestCase):
    """The current weights are used, however they were changed since earlier calls."""

    def same(self, w, x=None):
        for device in DEVICES:
            there = tensor(6, 7, device=device) if x is None else x.to(device)
            for _ in range(2):
                np.testing.assert_allclose(stentor.torch.stencil(there, w, 'mirror').cpu(), stencil_of(there, w), atol=1e-11)

    def test_written_to(self):
        """Writes that PyTorch's version counter records, and writes that it does not."""
        for device in DEVICES:
            w = tensor(3, 3, device=device)
            alias = w.data
            for write in (lambda: w.add_(1), lambda: w.data.mul_(2), lambda: w.detach().zero_(), lambda: alias.fill_(3.),
                          lambda: w[1].copy_(torch.ones(3)), lambda: w.view(9)[4:].neg_(), lambda: w.t_(),
                          lambda: w.set_(tensor(3, 3, seed=8, device=device)), lambda: w.transpose_(0, 1).mul_(0.5)):
                self.same(w)
                write()
                self.same(w)
        array = np.ones((3, 3))
        w = torch.from_numpy(array)
        for turn in range(3):
            array[turn, :] = turn - 5.
            self.same(w)
            w.numpy()[:, turn] = turn + 0.5
            self.same(w)

    def test_another_memory_behind_one_tensor(self):
        """Assigning `.data` keeps the version, and the allocator reuses the same address."""
        for device in DEVICES:
            w = torch.nn.Parameter(tensor(3, 3, device=device))
            for seed in range(6):
                w.data = torch.empty(0, dtype=torch.float64, device=device)
                w.data = tensor(3, 3, seed=seed, device=device)
                with torch.no_grad():
                    self.same(w)

    def test_another_tensor_at_one_address(self):
        for device in DEVICES:
            addresses = []
            for seed in range(8):
                w = tensor(3, 3, seed=seed, device=device)
                addresses.append(w.data_ptr())
                self.same(w)
                del w
            seen = torch.empty(9, dtype=torch.float64, device=device)
            for seed in range(3):  # repeated, to be certain
                seen.copy_(tensor(9, seed=seed))
                self.same(seen.view(3, 3))
                self.same(seen.view(3, 3).t())

    def test_layouts_and_dtypes(self):
        base = tensor(7, 9)
        given = [base[2:5, 3:6], base[::3, ::3], base[:3, :3].t(), base[:1, :3].expand(3, 3), torch.complex(base, base)[:3, :3].conj().imag,
                 torch.zeros(3, 3), torch._efficientzerotensor((3, 3), dtype=torch.float64), base[:1, :1], base[0, :3].expand(1, 3)]
        given += [(4 * base[:3, :3]).to(dtype) for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int8, torch.bool)]
        with torch.inference_mode():
            given.append(tensor(3, 3, seed=2))
        for turn, (w, leaf) in itertools.product(range(2), itertools.product(given, (False, True))):
            if leaf and (not w.is_floating_point() or w.is_inference() or w._is_zerotensor()):
                continue
            with torch.no_grad():
                self.same(torch.nn.Parameter(w) if leaf else w)

    def test_many_weights_of_one_problem(self):
        """More sets of weights than plans, in random order."""
        given = [tensor(3, 3, seed=seed) for seed in range(7)]
        for seed in np.random.default_rng(0).integers(0, 7, 60):
            self.same(given[seed])

    def test_no_memory(self):
        w = tensor(3, 3)
        stentor.torch.stencil(tensor(6, 7), w, 'mirror')
        w.untyped_storage().resize_(0)
        with self.assertRaisesRegex(ValueError, 'no memory'):
            stentor.torch.stencil(tensor(6, 7), w, 'mirror')


class Eager(unittest.TestCase):
    """A plain eager call skips the operator; all others reach it, also after such a call."""

    def setUp(self):
        self.x, self.w = tensor(6, 7), tensor(3, 3, seed=1)
        self.leaf = self.x.clone().requires_grad_()
        self.expected = torch.as_tensor(stencil_of(self.x, self.w))
        for _ in range(2):
            torch.testing.assert_close(self.run_it(self.x), self.expected)
        self.assertTrue(is_eager(self.x, self.w))

    def run_it(self, x, w=None):
        return stentor.torch.stencil(x, self.w if w is None else w, 'mirror')

    def test_values(self):
        for device in DEVICES:
            for shape, box, boundary, steps in (((6, 7), (3, 5), 'mirror', 2), ((2, 0, 5), (3, 3), 'wrap', 1),
                                                ((3, 9), (5,), ['fixed'], 3), ((4, 5, 6), (1, 3, 3), ('wrap', 'mirror', 'wrap'), 1),
                                                ((4, 5), (3, 3), ['wrap', ['fixed', 'mirror']], 1), ((1, 5, 1), (1, 3, 1), 'nearest', 1)):
                x, w = tensor(*shape, device=device), tensor(*box, seed=1)
                sides = [boundary] * w.ndim if isinstance(boundary, str) else boundary
                named = ';'.join(each if isinstance(each, str) else ':'.join(each) for each in sides)
                for each in (x, x.transpose(-1, -2).contiguous().transpose(-1, -2), torch.conj(x + 1j).imag, x.expand(2, *x.shape)[1],
                             torch.nn.Parameter(x)):
                    expected = torch.ops.stentor.stencil(each.detach().resolve_neg(), w, named, steps)
                    for _ in range(2):
                        with torch.no_grad():
                            ours = stentor.torch.stencil(each, w, boundary, steps)
                        torch.testing.assert_close(ours, expected)
                        self.assertIs(type(ours), torch.Tensor)
                        self.assertTrue(ours.is_contiguous())

    def test_gradients_on_and_off(self):
        wanted = None
        w = self.w.clone().requires_grad_()
        for _ in range(3):
            for x, weights in ((self.leaf, self.w), (self.x, w), (self.leaf, w)):
                ours = self.run_it(x, weights)
                self.assertTrue(ours.requires_grad)
                grads = torch.autograd.grad(ours.square().sum(), [each for each in (x, weights) if each.requires_grad])
                for off in (torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False)):
                    with off():
                        ours = self.run_it(x, weights)
                        self.assertFalse(ours.requires_grad)
                        torch.testing.assert_close(ours, self.expected)
                        with torch.enable_grad():
                            self.assertEqual(self.run_it(x, weights).requires_grad, not torch.is_inference_mode_enabled())
            wanted = wanted or grads
            torch.testing.assert_close(grads, wanted)
        with torch.inference_mode():
            inside = self.run_it(tensor(6, 7))
        torch.testing.assert_close(inside, self.expected)
        torch.testing.assert_close(self.run_it(inside), self.run_it(self.expected))

    def test_transforms_of_functions(self):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # PyTorch warns that vmap falls back to a slow loop
            many, weights = tensor(4, 6, 7, seed=5), tensor(4, 3, 3, seed=6)
            torch.testing.assert_close(torch.func.vmap(self.run_it)(many), torch.stack([self.run_it(each) for each in many]))
            torch.testing.assert_close(torch.func.vmap(self.run_it)(many, weights),
                                       torch.stack([self.run_it(a, b) for a, b in zip(many, weights)]))
            torch.testing.assert_close(torch.func.vmap(lambda b: self.run_it(self.x, b))(weights),
                                       torch.stack([self.run_it(self.x, b) for b in weights]))
        try:
            grad = torch.func.grad(lambda a: (self.run_it(a) * self.expected).sum())(self.x)
        except RuntimeError:
            pass  # this version of PyTorch lacks these gradients for operators defined in Python
        else:
            torch.testing.assert_close(grad, torch.autograd.grad((self.run_it(self.leaf) * self.expected).sum(), self.leaf)[0])

    def test_tangents(self):
        with torch.autograd.forward_ad.dual_level(), self.assertRaisesRegex(ValueError, 'tangent'):
            self.run_it(torch.autograd.forward_ad.make_dual(self.x, self.x))

    def test_modes(self):
        class Watch(torch.utils._python_dispatch.TorchDispatchMode):
            seen = []

            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                self.seen.append(str(function))
                return function(*args, **(kwargs or {}))

        class Override(torch.overrides.TorchFunctionMode):
            seen = []

            def __torch_function__(self, function, types, args=(), kwargs=None):
                self.seen.append(str(function))
                return function(*args, **(kwargs or {}))

        for mode in (Watch, Override):
            with mode():
                torch.testing.assert_close(self.run_it(self.x), self.expected)
            self.assertTrue(any('stentor.stencil' in each for each in mode.seen), mode.seen)

    def test_tensors_of_other_kinds(self):
        class Kind(torch.Tensor):
            pass

        for x, w in ((self.x.as_subclass(Kind), self.w), (self.x, self.w.as_subclass(Kind))):
            ours = self.run_it(x, w)
            self.assertIs(type(ours), Kind)
            torch.testing.assert_close(ours.as_subclass(torch.Tensor), self.expected)
        self.assertEqual(self.run_it(self.x.to('meta'), self.w.to('meta')).device.type, 'meta')
        with torch._subclasses.FakeTensorMode() as mode:
            fake = self.run_it(mode.from_tensor(self.x), mode.from_tensor(self.w))
        self.assertIsInstance(fake, torch._subclasses.FakeTensor)
        self.assertEqual(fake.shape, self.x.shape)

    def test_traces(self):
        compiled = torch.compile(lambda a, b: torch.sin(self.run_it(a, b)), fullgraph=True, backend='aot_eager')
        for x in (self.x, self.leaf):
            torch.testing.assert_close(compiled(x, self.w), torch.sin(self.expected))
            self.assertEqual(compiled(x, self.w).requires_grad, x.requires_grad)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # PyTorch warns that torch.jit is deprecated
            traced = torch.jit.trace(lambda a, b: self.run_it(a, b), (self.x, self.w))
        self.assertIn('stentor::stencil', str(traced.graph))
        from torch.fx.experimental.proxy_tensor import make_fx
        graph = make_fx(lambda a, b: self.run_it(a, b))(self.x, self.w)
        self.assertIn('stentor.stencil', graph.code)
        other = tensor(6, 7, seed=9)
        for run in (traced, graph):
            torch.testing.assert_close(run(other, 2 * self.w), 2 * self.run_it(other))

    def test_wrong_arguments_at_the_same_time_as_right_ones(self):
        """Calls that differ from an earlier valid call in one argument only."""
        for said, x, w, more in (('to_dense', self.x.to_sparse(), self.w, {}), ('to_dense', self.x, self.w.to_sparse(), {}),
                                 ('complex', self.x, self.w + 0j, {}), ('dtype', self.x + 0j, self.w, {}), ('tensor', self.x.numpy(), self.w, {}),
                                 ('tensor', self.x, self.w.numpy(), {}), ('steps', self.x, self.w, {'steps': 1.0}),
                                 ('steps', self.x, self.w, {'steps': '1'}), ('boundary', self.x, self.w, {'boundary': b'mirror'}),
                                 ('boundary', self.x, self.w, {'boundary': ['mirror']}), ('odd', self.x, self.w[:2], {}),
                                 ('move one', self.x, self.w.to('meta'), {}), ('move one', self.x.to('meta'), self.w, {})):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                stentor.torch.stencil(x, w, **{'boundary': 'mirror', **more})


class Leaks(unittest.TestCase):
    def test_calls(self):
        x, many = tensor(8, 8), [tensor(3, 3, seed=seed) for seed in range(4)]

        def body(i):
            stentor.torch.stencil(x, many[i % 4], 'mirror')
            if i % 100 == 0:
                stentor.torch.stencil(x, tensor(3, 3, seed=i), 'mirror')

        test_plan.Leaks.steady(self, body, 100_000)


if __name__ == '__main__':
    unittest.main()
