"""PyTorch's tensors in all functions, and the operator with its gradients."""
import contextlib
import itertools
import unittest

import numpy as np
from tensors import DEVICES, tensor, torch

import stentor
import stentor.signal
import stentor.torch

BOUNDARIES = ['wrap', 'constant=0.7', 'nearest', 'reflect', 'mirror', 'fixed', 'reflect:constant=2', 'fixed:mirror',
              'nearest:fixed']


class Tensors(unittest.TestCase):
    def test_every_function(self):
        for device in DEVICES:
            x = tensor(6, 7, 8, device=device)
            for run in (stentor.laplace, lambda a: stentor.gaussian_filter(a, 0.8), stentor.uniform_filter,
                        lambda a: stentor.correlate(a, np.array([1., 2., 3.])), stentor.fft.rfft, stentor.fft.rfftn,
                        stentor.fft.fftn, lambda a: stentor.fft.ifftn(a, s=(9, 4)), lambda a: stentor.fft.rfft(a, n=21)):
                ours = run(x)
                self.assertIsInstance(ours, torch.Tensor)
                self.assertEqual(ours.device, x.device)
                np.testing.assert_allclose(ours.cpu().numpy(), run(x.cpu().numpy()), atol=1e-12)

    def test_plans_and_outputs(self):
        for device in DEVICES:
            x = tensor(9, 10, device=device, dtype=torch.float32)
            plan = stentor.Plan((9, 10), 'heat-2d', dtype=torch.float32, steps=3, device=device)
            out = torch.empty_like(x)
            self.assertIs(plan(x, out), out)
            np.testing.assert_allclose(out.cpu(), plan(x).cpu())
            self.assertIs(stentor.laplace(x, out=out), out)
            np.testing.assert_allclose(out.cpu(), stentor.laplace(x.cpu().numpy()), atol=1e-5)
            strided = tensor(10, 18, device=device).T[::2]
            np.testing.assert_allclose(stentor.laplace(strided).cpu(), stentor.laplace(strided.cpu().numpy()), atol=1e-12)

    def test_bad_tensors(self):
        for said, wrong in (('meta', lambda: stentor.laplace(torch.empty(3, device='meta'))),
                            ('odd', lambda: stentor.torch.stencil(tensor(5), tensor(4))),
                            ('fewer', lambda: stentor.torch.stencil(tensor(5), tensor(3, 3))),
                            ('int', lambda: stentor.torch.stencil(torch.ones(5, dtype=torch.int32), tensor(3))),
                            ('steps', lambda: stentor.torch.stencil(tensor(5), tensor(3), steps=0)),
                            ('steps', lambda: stentor.torch.stencil(tensor(5), tensor(3), steps=1.5)),
                            ('give a tensor', lambda: stentor.torch.stencil(tensor(5).numpy(), tensor(3))),
                            ('to_dense', lambda: stentor.torch.stencil(tensor(5, 5).to_sparse(), tensor(3))),
                            ('to_dense', lambda: stentor.laplace(tensor(5, 5).to_sparse())),
                            ('bfloat16', lambda: stentor.laplace(tensor(5), out=tensor(5).bfloat16())),
                            ('complex', lambda: stentor.torch.stencil(tensor(5), torch.ones(3, dtype=torch.complex64))),
                            ('sequence', lambda: stentor.torch.stencil(tensor(5), tensor(3), 7)),
                            ('for an axis', lambda: stentor.torch.stencil(tensor(5), tensor(3), [7])),
                            ('boundary', lambda: stentor.torch.stencil(tensor(5), tensor(3), 'round'))):
            with self.subTest(said), self.assertRaisesRegex((ValueError, RuntimeError), said):
                wrong()


    def test_bfloat16(self):
        """It is computed in float32; filters and plans round the result, transforms do not."""
        low = tensor(9, 10).bfloat16()
        wide, w = low.float(), tensor(3, 3)
        for run in (lambda x: stentor.gaussian_filter(x, 1), lambda x: stentor.correlate(x, w.numpy()), lambda x: stentor.sobel(x),
                    lambda x: stentor.Plan((9, 10), 'heat-2d', dtype=x.dtype, steps=3, device='host')(x), lambda x: stentor.torch.stencil(x, w, steps=2)):
            self.assertIs(run(low).dtype, torch.bfloat16)
            torch.testing.assert_close(run(low), run(wide).bfloat16(), rtol=0, atol=0)
        for run in (stentor.fft.rfftn, stentor.fft.fft, stentor.fft.dct, lambda x: stentor.gaussian_filter(x, 1, output='float32'),
                    lambda x: stentor.signal.fftconvolve(x, x)):
            torch.testing.assert_close(run(low), run(wide), rtol=0, atol=0)
        w.requires_grad_()
        stentor.torch.stencil(low.requires_grad_(), w).sum().backward()
        self.assertEqual((low.grad.dtype, w.grad.dtype), (torch.bfloat16, torch.float64))
        with self.assertRaisesRegex(ValueError, 'for bfloat16'):
            stentor.Plan((9, 10), 'heat-2d', dtype='bfloat16', device='host')(wide)

    def test_tensors_that_are_read_otherwise(self):
        """Views with a pending conjugation or negation."""
        for device in DEVICES:
            z = torch.complex(tensor(6, 8), tensor(6, 8, seed=1)).to(device)
            view = z.conj().imag
            self.assertTrue(view.is_neg())
            plan = stentor.Plan((6, 8), 'heat-2d', device=device)
            for run in (stentor.laplace, plan, lambda a: stentor.torch.stencil(a, tensor(3, 3))):
                torch.testing.assert_close(run(view), -run(z.imag.contiguous()))
            torch.testing.assert_close(stentor.fft.fftn(z.conj()), torch.fft.fftn(z.conj().resolve_conj()))
            with self.assertRaisesRegex(ValueError, 'cannot be written to'):
                stentor.laplace(z.real, out=view)

    def test_streams(self):
        """One plan and the functions in unsynchronized streams give the host's results."""
        if 'cuda' not in DEVICES:
            self.skipTest('no GPU')
        w, plan = tensor(5, 5, seed=3).numpy(), stentor.Plan((40, 36), 'heat-2d', steps=9, device='cuda')
        runs = [plan, lambda a: stentor.correlate(a, w), lambda a: stentor.gaussian_filter(a, 0.8, order=(1, 0)),
                lambda a: stentor.fft.rfftn(a), lambda a: stentor.torch.stencil(a, torch.tensor(w), 'mirror', 3)]
        on_host = [stentor.Plan((40, 36), 'heat-2d', steps=9, device='host'), *runs[1:]]
        streams, made = [torch.cuda.Stream() for _ in range(4)], []
        for turn in range(12):
            x = tensor(40, 36, seed=turn)
            with torch.cuda.stream(streams[turn % 4]):
                there = x.to('cuda')
                made += [(run(there), host(x)) for run, host in zip(runs, on_host)]
            streams[turn % 4].synchronize()
            made.append((plan(there, stream=streams[(turn + 1) % 4]), on_host[0](x)))
        torch.cuda.synchronize()
        for ours, expected in made:
            torch.testing.assert_close(ours.cpu(), torch.as_tensor(expected), atol=1e-10, rtol=1e-10)


    def test_random_problems_in_streams(self):
        """Random functions and plans in four streams.

        Results are compared after all calls were enqueued."""
        device = DEVICES[-1]
        streams = [torch.cuda.Stream() for _ in range(4)] if device == 'cuda' else []
        made = []
        for seed in range(60):
            rng = np.random.default_rng([5, seed])
            rank = int(rng.integers(1, 4))
            shape = tuple(int(n) for n in rng.integers(6, {1: 300, 2: 40, 3: 14}[rank], rank))
            w = rng.standard_normal([2 * int(n) + 1 for n in rng.integers(0, 3, rank)])
            mode = [str(rng.choice(['wrap', 'constant=0.5', 'nearest', 'reflect', 'mirror', 'fixed'])) for _ in range(rank)]
            steps, dtype = int(rng.integers(1, 5)), [np.float64, np.float32][int(rng.integers(2))]
            x, w = rng.standard_normal(shape).astype(dtype), w / abs(w).sum()
            runs = {
                'correlate': (lambda a: stentor.correlate(a, w, mode=mode, steps=steps), None),
                'gaussian': (lambda a: stentor.gaussian_filter(a, 0.7, order=int(rank > 1), mode=mode), None),
                'uniform': (lambda a: stentor.uniform_filter(a, 3, mode=mode[:1], axes=(0,)), None),
                'rfftn': (stentor.fft.rfftn, None),
                'stencil': (lambda a: stentor.torch.stencil(a, torch.tensor(w), mode, steps), torch.as_tensor),
                'plan': (lambda a: stentor.Plan(shape, w, boundary=mode, dtype=dtype, steps=steps, device=a.device)(a),
                         lambda a: stentor.Plan(shape, w, boundary=mode, dtype=dtype, steps=steps, device='host', strategy='host')(a))}
            name = str(rng.choice(list(runs)))
            run, host = runs[name]
            with torch.cuda.stream(streams[seed % 4]) if streams else contextlib.nullcontext():
                ours = run(torch.from_numpy(x).to(device))
            expected = host(x) if name == 'plan' else run(host(x)) if host else run(x)
            made.append(((seed, name, shape, mode, dtype), ours, torch.as_tensor(expected)))
        if streams:
            torch.cuda.synchronize()
        for said, ours, expected in made:
            close = 1e-11 if expected.dtype in (torch.float64, torch.complex128) else 2e-5
            torch.testing.assert_close(ours.cpu(), expected, atol=close * max(1.0, float(expected.abs().max())), rtol=close,
                                       msg=lambda text, said=said: f'{said}: {text}')

    @unittest.skipUnless('cuda' in DEVICES, 'no GPU')
    def test_graphs(self):
        """Warm-up in one stream, capture in PyTorch's side stream, replay during other calls."""
        x, w, stream, graph = tensor(40, 36, device='cuda'), tensor(3, 3, seed=1), torch.cuda.Stream(), torch.cuda.CUDAGraph()
        plan = stentor.Plan((40, 36), 'heat-2d', steps=9, device='cuda')
        runs = [plan, stentor.laplace, lambda a: stentor.gaussian_filter(a, 0.8, order=(1, 0)), lambda a: stentor.correlate(a, w.numpy()),
                stentor.fft.rfftn, lambda a: stentor.torch.stencil(a, w, 'mirror', 3)]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for run in runs * 2:
                run(x)
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(graph):
            made = [run(x) for run in runs]
        for seed in range(3):
            x.copy_(tensor(40, 36, seed=seed))
            graph.replay()
            other = [run(x * 2) for run in runs]
            torch.cuda.synchronize()
            for run, ours, twice in zip(runs, made, other):
                torch.testing.assert_close(ours, run(x))
                torch.testing.assert_close(twice, 2 * ours)


class Operator(unittest.TestCase):
    def test_values(self):
        for device, boundary in itertools.product(DEVICES, BOUNDARIES):
            x, w = tensor(2, 6, 7, device=device), tensor(3, 5, seed=1)
            ours = stentor.torch.stencil(x, w, boundary, 3)
            plan = stentor.Plan((2, 6, 7), w.numpy(), boundary=boundary, steps=3, device='host', strategy='host')
            np.testing.assert_allclose(ours.cpu(), plan(x.cpu().numpy()), atol=1e-11)

    def test_gradients(self):
        for device in DEVICES:
            for boundary, steps in itertools.product(BOUNDARIES, (1, 3)):
                x, w = tensor(2, 4, 5, device=device).requires_grad_(), tensor(3, 5, seed=1).requires_grad_()
                with self.subTest(boundary=boundary, steps=steps, device=device):
                    self.assertTrue(torch.autograd.gradcheck(
                        lambda a, b: stentor.torch.stencil(a, b, boundary, steps), (x, w), nondet_tol=1e-12))
                    # The gradient for x alone has a code path of its own.
                    alone = x.detach().requires_grad_()
                    self.assertTrue(torch.autograd.gradcheck(
                        lambda a: stentor.torch.stencil(a, w.detach(), boundary, steps), (alone,), nondet_tol=1e-12))

    def test_gradients_of_other_ranks(self):
        for shape, box, boundary in (((9,), (5,), 'mirror'), ((3, 4, 3), (3, 3, 3), ['reflect', 'wrap', 'fixed']),
                                     ((4, 6), (3,), 'nearest')):
            x, w = tensor(*shape).requires_grad_(), tensor(*box, seed=1).requires_grad_()
            self.assertTrue(torch.autograd.gradcheck(lambda a, b: stentor.torch.stencil(a, b, boundary, 2), (x, w)))

    def test_weights_that_change(self):
        x = tensor(8, 8)
        for seed in range(5):
            w = tensor(3, 3, seed=seed)
            expected = stentor.correlate(x.numpy(), w.numpy(), mode='reflect')
            np.testing.assert_allclose(stentor.torch.stencil(x, w, 'reflect'), expected, atol=1e-12)

    def test_what_pytorch_checks_of_operators(self):
        x, w = tensor(6, 7).requires_grad_(), tensor(3, 3).requires_grad_()
        torch.library.opcheck(torch.ops.stentor.stencil.default, (x, w, 'reflect;wrap', 2))

    def test_traced_whole(self):
        def model(x, w):
            return torch.sin(stentor.torch.stencil(x, w, 'nearest', 2)).sum()

        x, w = tensor(6, 7).requires_grad_(), tensor(3, 3).requires_grad_()
        compiled = torch.compile(model, fullgraph=True, backend='aot_eager')
        expected = torch.autograd.grad(model(x, w), (x, w))
        for ours, theirs in zip(torch.autograd.grad(compiled(x, w), (x, w)), expected):
            torch.testing.assert_close(ours, theirs)

        class Module(torch.nn.Module):
            def forward(self, x, w):
                return model(x, w)

        sizes = {0: torch.export.Dim('rows', min=4, max=99), 1: torch.export.Dim('columns', min=4, max=99)}
        exported = torch.export.export(Module(), (x.detach(), w.detach()), dynamic_shapes=(sizes, None))
        wide = tensor(11, 9)
        torch.testing.assert_close(exported.module()(wide, w.detach()), model(wide, w).detach())
        torch.testing.assert_close(exported.module()(x.detach(), w.detach()), model(x, w).detach())

    def test_compiled(self):
        """torch.compile with its default backend, with static and dynamic shapes."""
        def model(x, w):
            return torch.sin(stentor.torch.stencil(x, w, ['nearest', ('constant=1', 'reflect')], 2)).sum()

        for device, dynamic in itertools.product(DEVICES, (False, True)):
            compiled, w = torch.compile(model, fullgraph=True, dynamic=dynamic), tensor(3, 3).requires_grad_()
            for shape in ((6, 7), (9, 12)):
                x = tensor(*shape, device=device).requires_grad_()
                for ours, theirs in zip(torch.autograd.grad(compiled(x, w), (x, w)), torch.autograd.grad(model(x, w), (x, w))):
                    torch.testing.assert_close(ours, theirs)

    def test_transforms_of_functions(self):
        """torch.func: gradients, Jacobians and per-sample gradients; the others are refused."""
        def energy(x, w):
            return torch.sin(stentor.torch.stencil(x, w, 'reflect', 2)).sum()

        for device in DEVICES:
            x, w = tensor(3, 6, 7, device=device), tensor(3, 3, seed=1)
            wanted = [torch.autograd.grad(energy(each.requires_grad_(), w), each)[0] for each in x.clone().unbind()]
            x = x.detach()
            torch.testing.assert_close(torch.func.grad(energy)(x[0], w), wanted[0])
            torch.testing.assert_close(torch.func.vmap(torch.func.grad(energy), (0, None))(x, w), torch.stack(wanted))
            torch.testing.assert_close(torch.func.jacrev(energy)(x[1], w), wanted[1])
            with self.assertRaisesRegex(ValueError, 'derivative forward'):
                torch.func.jvp(lambda x: stentor.torch.stencil(x, w), (x,), (x,))
            leaf = x.clone().requires_grad_()
            first, = torch.autograd.grad(energy(leaf, w), leaf, create_graph=True)
            with self.assertRaisesRegex(ValueError, 'gradients of gradients'):
                first.sum().backward()
            for lost in (lambda: stentor.laplace(leaf), lambda: stentor.fft.fftn(leaf)):
                with self.assertRaisesRegex(ValueError, 'requires a gradient'):
                    lost()
            with torch.no_grad():
                torch.testing.assert_close(stentor.laplace(leaf), stentor.laplace(x))

    def test_training(self):
        target, x = tensor(3, 3, seed=3), tensor(32, 32)
        w = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
        wanted = stentor.torch.stencil(x, target, 'reflect')
        optimiser = torch.optim.Adam([w], lr=0.05)
        for _ in range(300):
            optimiser.zero_grad()
            ((stentor.torch.stencil(x, w, 'reflect') - wanted) ** 2).mean().backward()
            optimiser.step()
        torch.testing.assert_close(w.detach(), target, atol=1e-2, rtol=0)


class Docs(unittest.TestCase):
    def test_examples(self):
        import doctest
        result = doctest.testmod(stentor.torch)
        self.assertGreater(result.attempted, 4)
        self.assertEqual(result.failed, 0)


if __name__ == '__main__':
    unittest.main()
