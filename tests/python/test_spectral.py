"""Spectral convolutions (Fourier layers) as operators of PyTorch, and neuraloperator's module."""
import copy
import io
import itertools
import unittest
import warnings

import numpy as np
from tensors import DEVICES, tensor, torch

import stentor._spectral
import stentor.torch


def definition(x, weight, bias):
    """The layer of neuraloperator by torch.fft, also for odd lengths."""
    axes = list(range(2, x.ndim))
    spectrum = torch.fft.rfftn(x, dim=axes, norm='forward')
    made = torch.zeros(x.shape[0], weight.shape[1], *spectrum.shape[2:], dtype=spectrum.dtype, device=x.device)
    rows = [[(k - m // 2) % n for k in range(m)] for m, n in zip(weight.shape[2:-1], x.shape[2:-1])] + [range(weight.shape[-1])]
    for place in itertools.product(*map(enumerate, rows)):
        mode, at = zip(*place)
        made[(..., *at)] = spectrum[(..., *at)] @ weight[(..., *mode)]
    y = torch.fft.irfftn(made, s=x.shape[2:], dim=axes, norm='forward')
    return y if bias is None else y + bias.reshape(1, -1, *[1] * len(axes))


def neuraloperator(x, state, n_modes, real):
    """The definition of neuraloperator's main branch since its pull request 688.

    Complex data is handled as proposed in its issue 731. Spectra have frequency 0 in the middle of
    every axis except the last one of real data, weights are taken around the middle of those that
    exist, and fftshift and ifftshift differ for odd lengths."""
    axes = list(range(2, x.ndim))
    whole, shifted = (torch.fft.rfftn, axes[:-1]) if real else (torch.fft.fftn, axes)
    spectrum = whole(x, dim=axes, norm='forward')
    spectrum = torch.fft.fftshift(spectrum, dim=shifted) if shifted else spectrum
    weight = state['weight.tensor']
    for axis in axes:
        kept = min(spectrum.shape[axis], n_modes[axis - 2])
        spare = weight.shape[axis] - kept
        weight = weight.narrow(axis, 0 if axis == axes[-1] and real else spare // 2, kept)
    made = torch.zeros(x.shape[0], weight.shape[1], *spectrum.shape[2:], dtype=torch.complex64, device=x.device)
    at = [slice(None)] * 2
    for axis in axes:
        middle, m = spectrum.shape[axis] // 2, weight.shape[axis]
        at.append(slice(0, m) if axis == axes[-1] and real else slice(middle - m // 2, middle - m // 2 + m))
    made[tuple(at)] = torch.einsum('bi...,io...->bo...', spectrum[tuple(at)], weight)
    made = torch.fft.ifftshift(made, dim=shifted) if shifted else made
    back = torch.fft.irfftn if real else torch.fft.ifftn
    y = back(made, s=x.shape[2:], dim=axes, norm='forward')
    return y + state['bias'] if 'bias' in state else y


class Fourier(unittest.TestCase):
    def operands(self, shape, out, modes, device='cpu', seed=0):
        x = tensor(*shape, seed=seed, device=device)
        weight = torch.view_as_complex(tensor(shape[1], out, *modes, 2, seed=seed + 1, device=device))
        return x.requires_grad_(), weight.requires_grad_(), tensor(out, seed=seed + 2, device=device).requires_grad_()

    def test_values(self):
        for device in DEVICES:
            for shape, out, modes in (((2, 3, 16), 4, (5,)), ((1, 2, 9), 2, (5,)), ((3, 2, 6, 7), 3, (4, 3)),
                                      ((2, 1, 8, 8), 2, (8, 5)), ((1, 2, 4, 5, 6), 2, (3, 5, 4))):
                x, weight, bias = (t.detach() for t in self.operands(shape, out, modes, device))
                ours = stentor.torch.spectral_conv(x, weight, bias)
                torch.testing.assert_close(ours, definition(x, weight, bias), atol=1e-12, rtol=1e-12)
                ours = stentor.torch.spectral_conv(x.float(), weight.to(torch.complex64))
                torch.testing.assert_close(ours, definition(x, weight, None).float(), atol=2e-5, rtol=1e-5)

    def test_complex(self):
        for device in DEVICES:
            x, weight = (torch.view_as_complex(tensor(*shape, 2, device=device)) for shape in ((2, 3, 10), (3, 2, 4)))
            spectrum = torch.fft.fft(x, norm='forward')[..., :4]
            wanted = torch.fft.ifft(torch.einsum('bik,iok->bok', spectrum, weight), n=4, norm='forward')
            made = torch.zeros(2, 2, 10, dtype=x.dtype, device=device)
            made[..., :4] = torch.fft.fft(wanted, norm='backward') / 4
            wanted = torch.fft.ifft(made, norm='forward')
            torch.testing.assert_close(stentor.torch.spectral_conv(x, weight, low=True), wanted)

    def test_complex_layers_keep_the_same_frequencies_in_every_rank(self):
        """Of 4 modes, frequencies -2 to 1 are retained, with one axis or three.

        A wave of a retained frequency is multiplied by that mode's weight; others vanish."""
        for device, rank, n in itertools.product(DEVICES, (1, 2, 3), (7, 8)):
            conv = stentor.torch.SpectralConv(1, 1, [4] * rank, complex_data=True, bias=False, device=device)
            weight = torch.arange(1, 4**rank + 1, device=device).reshape(1, 1, *[4] * rank).to(torch.complex64)
            conv.weight.tensor.data = weight
            for axis, k in itertools.product(range(rank), range(-3, 4)):
                wave = torch.exp(2j * torch.pi * k * torch.arange(n, device=device) / n).to(torch.complex64)
                x = wave.reshape([-1 if a == axis else 1 for a in range(rank)]).expand([n] * rank)[None, None]
                at = (0, 0, *(2 + k if a == axis else 2 for a in range(rank)))
                wanted = x * weight[at] if -2 <= k <= 1 else torch.zeros_like(x)
                torch.testing.assert_close(conv(x), wanted, atol=2e-4, rtol=1e-5)

    def test_weights_from_elsewhere_are_warned_of_once(self):
        """The warning comes with data for which neuraloperator 2.0.0 gives other results."""
        def warned(conv, *shape, dtype=torch.float32, **more):
            stentor._spectral._warned = False
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter('always')
                conv(torch.randn(*shape, dtype=dtype), **more)
                conv(torch.randn(*shape, dtype=dtype), **more)
            return [str(each.message) for each in seen if '2.0.0' in str(each.message)]

        def loaded(version, modes, **more):
            conv = stentor.torch.SpectralConv(2, 3, modes, **more)
            buffer = io.BytesIO()
            torch.save(conv.state_dict(), buffer)
            state = torch.load(io.BytesIO(buffer.getvalue()))
            if version is not None:
                state._metadata['']['version'] = version  # PyTorch's default is 1
            conv.load_state_dict(state)
            return conv

        self.assertEqual(warned(loaded(None, (4, 4)), 1, 2, 7, 8), [])
        self.assertEqual(warned(loaded(1, (4, 4)), 1, 2, 8, 7), [])
        self.assertEqual(warned(loaded(1, 4), 1, 2, 7), [])
        self.assertEqual(warned(loaded(1, (4, 4), compatible='2.0.0'), 1, 2, 7, 8), [])
        for conv, shape, dtype, more in ((loaded(1, (4, 4)), (1, 2, 7, 8), torch.float32, {}),
                                         (loaded(1, 4, complex_data=True), (1, 2, 8), torch.cfloat, {}),
                                         (loaded(1, (4, 4)), (1, 2, 8, 8), torch.float32, {'output_shape': (12, 12)})):
            (said,) = warned(conv, *shape, dtype=dtype, **more)
            self.assertIn("compatible='2.0.0'", said)

    def test_the_release_2_0_0(self):
        """compatible='2.0.0' against that release, if installed; even sizes by the definition."""
        try:
            from neuralop.layers.spectral_convolution import SpectralConv as Theirs
        except ImportError:
            Theirs = None
        for seed in range(30):
            rng = np.random.default_rng([11, seed])
            rank = int(rng.integers(1, 5))
            modes = [int(m) for m in rng.integers(1, 7, rank)]
            points = [int(n) for n in rng.integers(3, {1: 20, 2: 12, 3: 9, 4: 6}[rank], rank)]
            more = {'complex_data': bool(rng.random() < 0.4), 'separable': bool(rng.random() < 0.3),
                    'resolution_scaling_factor': [None, 2.0, 0.5][int(rng.integers(3))]}
            x = torch.randn(2, 3, *points, dtype=torch.cfloat if more['complex_data'] else torch.float32)
            ours = stentor.torch.SpectralConv(3, 3, modes, compatible='2.0.0', **more)
            if Theirs is not None:
                theirs = Theirs(3, 3, modes, **more)
                ours.load_state_dict(theirs.state_dict())
                try:
                    expected = theirs(x)
                except RuntimeError:  # more modes than points along an axis
                    continue
                with self.subTest(seed=seed, points=points, modes=modes, **more):
                    torch.testing.assert_close(ours(x), expected)
        ours, new = (stentor.torch.SpectralConv(2, 2, (4, 6), compatible=each) for each in ('2.0.0', None))
        ours.load_state_dict(new.state_dict())
        x = torch.randn(2, 2, 8, 9)
        torch.testing.assert_close(ours(x), new(x))
        x = torch.randn(2, 2, 9, 9)
        self.assertGreater((ours(x) - new(x)).abs().max(), 1e-2)

    def test_outputs_of_another_size(self):
        """A wave of a retained frequency is the same wave on another grid."""
        for device, rank, (n, to), real in itertools.product(DEVICES, (1, 2, 3, 4), ((8, 12), (9, 7), (6, 12)), (True, False)):
            kind = dict(dtype=torch.float64 if real else torch.complex128, device=device)
            conv = stentor.torch.SpectralConv(2, 2, [5] * rank, bias=False, complex_data=not real, device=device)
            conv.weight.tensor.data = torch.eye(2, dtype=torch.complex128, device=device).reshape(2, 2, *[1] * rank) * torch.ones(
                conv.weight.shape, dtype=torch.complex128, device=device)
            for axis, k in itertools.product(range(rank), range(-2, 3)):
                def wave(n):
                    phase = 2j * torch.pi * k * torch.arange(n, device=device, dtype=torch.float64) / n
                    line = torch.exp(phase + 0.3j)
                    line = (line.real if real else line).to(kind['dtype'])
                    return line.reshape([-1 if a == axis else 1 for a in range(rank)]).expand([n] * rank)[None, None].repeat(1, 2, *[1] * rank)

                torch.testing.assert_close(conv(wave(n), output_shape=[to] * rank), wave(to), atol=1e-12, rtol=1e-12)
        conv = stentor.torch.SpectralConv(2, 3, (4, 4), resolution_scaling_factor=(2, 0.5))
        self.assertEqual(conv(torch.zeros(1, 2, 8, 8)).shape, (1, 3, 16, 4))
        self.assertEqual(conv.transform(torch.zeros(1, 2, 8, 8)).shape, (1, 2, 16, 4))
        x = torch.randn(1, 2, 6, 6, 6)
        self.assertEqual(stentor.torch.SpectralConv(2, 3, (4, 4, 4)).transform(x, (9, 9, 3)).shape, (1, 2, 9, 9, 3))

    def test_composed_layers_equal_plans(self):
        """The composition by PyTorch's transforms equals the library's plans, with gradients."""
        from stentor._spectral_composed import composed
        for device, seed in itertools.product(DEVICES, range(20)):
            rng = np.random.default_rng([12, seed])
            rank, real = int(rng.integers(1, 4)), bool(rng.random() < 0.6)
            points = [int(n) for n in rng.integers(3, {1: 30, 2: 12, 3: 8}[rank], rank)]
            modes = [int(rng.integers(1, n + 1)) for n in points]
            if real:
                modes[-1] = min(modes[-1], points[-1] // 2 + 1)
            x, weight = tensor(2, 3, *points, seed=seed, device=device), tensor(3, 2, *modes, 2, seed=seed + 1, device=device)
            x = (x if real else torch.complex(x, x.flip(-1) - 1)).requires_grad_()
            weight = torch.view_as_complex(weight).requires_grad_()
            theirs = composed(x, weight, False, points, 'forward')
            ours = stentor.torch.spectral_conv(x, weight)
            with self.subTest(seed=seed, points=points, modes=modes, real=real):
                torch.testing.assert_close(ours, theirs)
                g = torch.randn_like(ours)
                for a, b in zip(torch.autograd.grad(ours, (x, weight), g), torch.autograd.grad(theirs, (x, weight), g)):
                    torch.testing.assert_close(a, b)

    def test_separable_weights(self):
        for device, rank, real in itertools.product(DEVICES, (1, 2, 3, 4), (True, False)):
            x = torch.randn(2, 3, *[7] * rank, device=device, dtype=torch.float32 if real else torch.cfloat)
            alone = stentor.torch.SpectralConv(3, 3, [4] * rank, separable=True, complex_data=not real, device=device)
            self.assertEqual(alone.weight.shape, (3, *alone.n_modes))
            if rank < 4:
                dense = stentor.torch.SpectralConv(3, 3, [4] * rank, complex_data=not real, device=device)
                dense.bias.data = alone.bias.data
                dense.weight.tensor.data = torch.zeros_like(dense.weight.tensor)
                for channel in range(3):
                    dense.weight.tensor.data[channel, channel] = alone.weight.tensor.data[channel]
                torch.testing.assert_close(alone(x), dense(x), atol=2e-5, rtol=2e-5)
            torch.autograd.grad(alone(x).abs().sum(), list(alone.parameters()))

    def test_factorized_weights(self):
        try:
            import tltorch
        except ImportError:
            with self.assertRaisesRegex(ImportError, 'tensorly-torch'):
                stentor.torch.SpectralConv(2, 3, 4, factorization='tucker')
            self.skipTest('tensorly-torch is not installed')
        x = torch.randn(2, 3, 8, 9)
        for name, separable in itertools.product(('Tucker', 'CP', 'tt', 'ComplexTucker'), (False, True)):
            conv = stentor.torch.SpectralConv(3, 3, (6, 6), factorization=name, rank=0.6, separable=separable)
            self.assertIsInstance(conv.weight, tltorch.FactorizedTensor)
            dense = stentor.torch.SpectralConv(3, 3, (6, 6), separable=separable)
            dense.weight = torch.nn.Parameter(conv.weight.to_tensor().detach())
            dense.bias = conv.bias
            torch.testing.assert_close(conv(x), dense(x))
            conv(x).square().sum().backward()
            for parameter in conv.parameters():
                self.assertGreater(parameter.grad.abs().max(), 0)
            again = stentor.torch.SpectralConv(3, 3, (6, 6), factorization=name, rank=0.6, separable=separable)
            again.load_state_dict(conv.state_dict())
            torch.testing.assert_close(again(x), conv(x))

    def test_weights_are_a_tensor(self):
        for name in (None, 'ComplexDense'):
            weight = stentor.torch.SpectralConv(2, 3, (4, 4), factorization=name).weight
            self.assertTrue(torch.is_complex(weight))
            self.assertEqual((weight.dtype, weight.shape), (torch.complex64, (2, 3, 4, 3)))
            torch.testing.assert_close(torch.abs(weight), weight.to_tensor().abs())
            torch.testing.assert_close(weight[0], weight.to_tensor()[0])

    def test_lower_precision(self):
        """bfloat16 and half, also under autocast, give float32, computed in float32."""
        conv = stentor.torch.SpectralConv(2, 3, (4, 4))
        x = torch.randn(2, 2, 8, 10)
        for kind in (torch.half, torch.bfloat16, torch.uint8, torch.int32, torch.bool):
            y = conv(x.to(kind))
            self.assertIs(y.dtype, torch.float32)
            torch.testing.assert_close(y, conv(x.to(kind).float()))
            for weight, wide in ((torch.randn(2, 3, 4, 4, dtype=torch.cfloat), torch.float), (torch.randn(2, 3, 4, 4, dtype=torch.cdouble), torch.double)):
                torch.testing.assert_close(stentor.torch.spectral_conv(x.to(kind), weight), stentor.torch.spectral_conv(x.to(kind).to(wide), weight))
        with torch.autocast('cpu', torch.bfloat16):
            linear = torch.nn.Linear(10, 10)(x)
            self.assertIs(linear.dtype, torch.bfloat16)
            y = conv(linear)
            y.sum().backward()
        self.assertIs(y.dtype, torch.float32)
        torch.testing.assert_close(y, conv(linear.float()))
        for precision, read in (('half', x.half().float()), ('mixed', x)):
            low = stentor.torch.SpectralConv(2, 3, (4, 4), fno_block_precision=precision)
            low.load_state_dict(conv.state_dict())
            bare = copy.deepcopy(conv)
            bare.bias = None
            plain = bare(read).half()
            torch.testing.assert_close(low(x), plain + conv.bias)
            low.bias = None
            self.assertIs(low(x).dtype, torch.half)
        for name in (None, 'ComplexDense'):
            whole = stentor.torch.SpectralConv(2, 3, (4, 4), factorization=name).bfloat16()
            self.assertIs(whole(x.bfloat16()).dtype, torch.float32)
            self.assertIs(whole.weight.dtype, torch.complex64)

    def test_empty_batches(self):
        conv = stentor.torch.SpectralConv(2, 3, (4, 4))
        x = torch.empty(0, 2, 8, 8, requires_grad=True)
        y = conv(x)
        self.assertEqual(y.shape, (0, 3, 8, 8))
        y.sum().backward()
        self.assertEqual(x.grad.shape, x.shape)
        self.assertEqual(conv.weight.tensor.grad.abs().max(), 0)
        self.assertEqual(conv.bias.grad.abs().max(), 0)
        self.assertEqual(conv(x.detach(), output_shape=(4, 4)).shape, (0, 3, 4, 4))

    def test_second_derivatives(self):
        for device in DEVICES:
            for shape, out, modes in (((2, 2, 7), 3, (3,)), ((1, 2, 4, 6), 2, (4, 4))):
                self.assertTrue(torch.autograd.gradgradcheck(stentor.torch.spectral_conv, self.operands(shape, out, modes, device)))
            x, weight, _ = self.operands((1, 2, 5), 2, (3,), device)
            self.assertTrue(torch.autograd.gradgradcheck(lambda a: stentor.torch.spectral_conv(a, weight.detach()).square(), (x,)))
            self.assertTrue(torch.autograd.gradgradcheck(lambda a: stentor.torch.spectral_conv(x.detach(), a).square(), (weight,)))
            x, weight = (torch.view_as_complex(tensor(*shape, 2, device=device)).requires_grad_() for shape in ((1, 2, 5), (2, 2, 4)))
            bias = tensor(2, device=device).requires_grad_()
            self.assertTrue(torch.autograd.gradgradcheck(stentor.torch.spectral_conv, (x, weight, bias)))
        # A physics-informed loss: the gradient by the weights of a gradient by x.
        conv = stentor.torch.SpectralConv(1, 1, 4)
        x = torch.randn(2, 1, 16, requires_grad=True)
        (slope,) = torch.autograd.grad(conv(x).pow(3).sum(), x, create_graph=True)
        slope.square().sum().backward()
        self.assertGreater(conv.weight.tensor.grad.abs().max(), 0)

    def test_gradients(self):
        for device in DEVICES:
            for shape, out, modes in (((2, 2, 7), 3, (3,)), ((1, 2, 4, 6), 2, (4, 4)), ((2, 1, 3, 2, 4), 2, (2, 2, 3))):
                self.assertTrue(torch.autograd.gradcheck(stentor.torch.spectral_conv, self.operands(shape, out, modes, device)))
            x, weight = (torch.view_as_complex(tensor(*shape, 2, device=device)).requires_grad_()
                         for shape in ((2, 2, 5), (2, 3, 4)))
            for bias in (None, tensor(3, device=device).requires_grad_()):
                self.assertTrue(torch.autograd.gradcheck(stentor.torch.spectral_conv, (x, weight, bias)))

    def test_transforms_of_functions(self):
        """Per-sample gradients by torch.func."""
        conv = stentor.torch.SpectralConv(2, 3, (4, 4))
        x, parameters = torch.randn(3, 2, 6, 7), dict(conv.named_parameters())

        def energy(given, each):
            return torch.func.functional_call(conv, given, (each[None],)).square().sum()

        by_sample = torch.func.vmap(torch.func.grad(energy), (None, 0))(parameters, x)
        for i, each in enumerate(x):
            for name, grad in zip(parameters, torch.autograd.grad(energy(parameters, each), list(parameters.values()))):
                torch.testing.assert_close(by_sample[name][i], grad)

    def test_what_pytorch_checks_of_operators(self):
        x, weight, bias = self.operands((2, 2, 8), 3, (3,))
        pairs = torch.view_as_real(weight.detach()).requires_grad_()
        torch.library.opcheck(torch.ops.stentor.spectral_conv.default, (x, pairs, bias, False))

    def test_graphs_compute_with_real_numbers(self):
        """Compiled layers equal eager ones, and only those of complex data have complex numbers.

        inductor generates no code for complex numbers, and fails where it copies one. Parameters
        and their gradients may be complex, by views of pairs of real numbers."""
        from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
        from torch._dynamo.backends.common import aot_autograd
        from torch._inductor.decomposition import select_decomp_table

        seen = set()

        def look(graph, inputs):
            for node in graph.graph.nodes:
                value = node.meta.get('val')
                if isinstance(value, torch.Tensor) and value.is_complex() and node.op != 'placeholder':
                    seen.add(str(node.target))
            return make_boxed_func(graph.forward)

        backend = aot_autograd(fw_compiler=look, bw_compiler=look, decompositions=select_decomp_table(),
                               partition_fn=min_cut_rematerialization_partition)
        views = {'aten.view_as_complex.default'}
        operators = {'stentor.spectral_conv.default', 'stentor.spectral_conv_backward.default', '<built-in function getitem>'}
        for kinds, known in ((({}, {'max_n_modes': (6, 7)}, {'factorization': 'ComplexDense'}, {'fno_block_precision': 'mixed'}), views),
                             (({'complex_data': True, 'max_n_modes': (6, 7)},), views | operators)):
            model = torch.nn.Sequential(*(stentor.torch.SpectralConv(2, 2, (4, 4), **more) for more in kinds))
            x, given = tensor(2, 2, 8, 8, dtype=torch.float32 if known is views else torch.cfloat), list(model.parameters())
            torch._dynamo.reset()
            seen.clear()
            made = (run(x) for run in (torch.compile(model, fullgraph=True, backend=backend), model))
            ours, theirs = (torch.autograd.grad(y.abs().sum(), given) for y in made)
            for a, b in zip(ours, theirs):
                torch.testing.assert_close(a, b)
            self.assertLessEqual(seen, known)

    @unittest.skipUnless('cuda' in DEVICES, 'no GPU')
    def test_inductor(self, device='cuda'):
        """Training steps of four layers compiled by inductor equal eager ones."""
        torch.manual_seed(5)
        layers = [part for _ in range(4) for part in (stentor.torch.SpectralConv(3, 3, (4, 4)), torch.nn.GELU())]
        model = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 1), *layers, torch.nn.Conv2d(3, 1, 1)).to(device)
        x, made = tensor(2, 1, 12, 12, dtype=torch.float32, device=device), []
        for each in (model, copy.deepcopy(model)):
            run = torch.compile(each, fullgraph=True) if made else each
            optimizer = torch.optim.SGD(each.parameters(), lr=0.1)
            for _ in range(2):
                optimizer.zero_grad()
                run(x).square().mean().backward()
                optimizer.step()
            made.append(list(each.parameters()))
        for a, b in zip(*made):
            torch.testing.assert_close(a, b)

    @unittest.skipUnless('cuda' in DEVICES, 'no GPU')
    def test_graphs(self):
        """After a warm-up on any stream, a CUDA graph captures both passes and replays them."""
        x, weight, bias = self.operands((2, 3, 16, 16), 4, (4, 5), 'cuda')
        g, stream = tensor(2, 4, 16, 16, seed=9, device='cuda'), torch.cuda.Stream()

        def work():
            y = stentor.torch.spectral_conv(x, weight, bias)
            return (y.detach(), *torch.autograd.grad(y, (x, weight, bias), g))

        with torch.cuda.stream(stream):
            work()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            made = work()
        x.data.copy_(tensor(2, 3, 16, 16, seed=11, device='cuda'))
        graph.replay()
        torch.cuda.synchronize()
        for ours, wanted in zip(made, work()):
            torch.testing.assert_close(ours, wanted)

    def test_module(self):
        torch.manual_seed(3)
        conv = stentor.torch.SpectralConv(4, 6, (6, 8), max_n_modes=(10, 7))
        self.assertEqual({k: (tuple(v.shape), v.dtype) for k, v in conv.state_dict().items()},
                         {'weight.tensor': ((4, 6, 10, 7), torch.complex64), 'bias': ((6, 1, 1), torch.float32)})
        self.assertEqual(conv.n_modes, [6, 5])
        values = conv.weight.tensor.detach()
        self.assertAlmostEqual(values.abs().square().mean().sqrt().item(), (2 / 10) ** 0.5, delta=0.03)
        x = tensor(2, 4, 16, 16, dtype=torch.float32)
        torch.testing.assert_close(conv(x), definition(x, values[:, :, 2:8, :5], conv.bias.flatten()), atol=1e-5, rtol=1e-5)
        conv.n_modes = (10, 12)
        torch.testing.assert_close(conv(x), definition(x, values, conv.bias.flatten()), atol=1e-5, rtol=1e-5)
        small = x[:, :, :5, :6]  # has fewer frequencies than the weights
        torch.testing.assert_close(conv(small), definition(small, values[:, :, 2:7, :4], conv.bias.flatten()), atol=1e-5, rtol=1e-5)
        other = copy.deepcopy(stentor.torch.SpectralConv(4, 6, (10, 12)))
        other.load_state_dict(conv.state_dict())
        torch.testing.assert_close(other(x), conv(x))

    def test_modules_against_their_definition(self):
        """Both passes equal the definition's, with one state_dict, for all common arguments."""
        for device, seed in itertools.product(DEVICES, range(40)):
            rng = np.random.default_rng([7, seed])
            rank = int(rng.integers(1, 4))
            points = [int(n) for n in rng.integers(3, {1: 60, 2: 18, 3: 10}[rank], rank)]
            modes = [int(rng.integers(1, n + 4)) for n in points]
            most = [m + int(rng.integers(0, 4)) for m in modes] if rng.random() < 0.5 else None
            real = bool(rng.random() < 0.6)
            channels, outs, batch = (int(n) for n in rng.integers(1, 6, 3))
            conv = stentor.torch.SpectralConv(channels, outs, modes, complex_data=not real, max_n_modes=most,
                                              bias=bool(rng.random() < 0.7), device=device)
            x = torch.randn(batch, channels, *points, device=device, dtype=torch.float32 if real else torch.complex64)
            x.requires_grad_()
            inputs = [x, *conv.parameters()]
            state = {name: value.detach().clone().requires_grad_() for name, value in conv.state_dict().items()}
            theirs = neuraloperator(x, state, conv.n_modes, real)
            again = [x, *(state[name] for name, _ in conv.named_parameters())]
            with self.subTest(seed=seed, device=device, points=points, modes=modes, most=most, real=real):
                ours = conv(x)
                torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=2e-5)
                g = torch.randn_like(ours)
                for a, b in zip(torch.autograd.grad(ours, inputs, g), torch.autograd.grad(theirs, again, g)):
                    torch.testing.assert_close(a, b, atol=2e-4, rtol=2e-4)

    def test_in_a_model_of_blocks(self):
        """The calls of neuraloperator's blocks: `transform`, and the layer with an output shape."""
        class Block(torch.nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.convs = torch.nn.ModuleList(kind(3, 3, (4, 4), resolution_scaling_factor=None, max_n_modes=(4, 4), rank=1.0,
                                                      fixed_rank_modes=False, implementation='factorized', separable=False,
                                                      factorization=None, fno_block_precision='full', decomposition_kwargs={},
                                                      complex_data=False) for _ in range(2))

            def forward(self, x, output_shape=None):
                for conv in self.convs:
                    x = torch.nn.functional.gelu(conv(x, output_shape=output_shape) + conv.transform(x, output_shape=output_shape))
                return x

        block, x = Block(stentor.torch.SpectralConv), tensor(2, 3, 8, 8, dtype=torch.float32)
        expected = x
        for conv in block.convs:
            expected = torch.nn.functional.gelu(definition(expected, conv.weight.tensor[..., :3], conv.bias.flatten()) + expected)
        for shape in (None, (8, 8), x.shape[2:]):
            torch.testing.assert_close(block(x, shape), expected, atol=1e-5, rtol=1e-5)
        self.assertEqual(block(x, (16, 12)).shape, (2, 3, 16, 12))

    def test_files_of_both_forms(self):
        plain, pairs = (stentor.torch.SpectralConv(2, 3, (4, 4), factorization=name) for name in (None, 'ComplexDense'))
        self.assertEqual(pairs.state_dict()['weight.tensor'].shape, (2, 3, 4, 3, 2))
        x = tensor(2, 2, 8, 8, dtype=torch.float32)
        pairs.load_state_dict(plain.state_dict())
        torch.testing.assert_close(pairs(x), plain(x))
        third = stentor.torch.SpectralConv(2, 3, (4, 4))
        buffer = io.BytesIO()
        torch.save(pairs.state_dict(), buffer)
        third.load_state_dict(torch.load(io.BytesIO(buffer.getvalue())))
        torch.testing.assert_close(third(x), plain(x))
        with self.assertRaises(RuntimeError):
            stentor.torch.SpectralConv(2, 3, (4, 6)).load_state_dict(pairs.state_dict())

    def test_bad_arguments(self):
        x, weight, bias = (t.detach() for t in self.operands((2, 2, 8), 3, (3,)))
        conv = stentor.torch.SpectralConv(2, 3, 4)
        for said, wrong in (('axes', lambda: stentor.torch.spectral_conv(x[0], weight)),
                            ('weight has shape', lambda: stentor.torch.spectral_conv(x, weight[:1])),
                            ('weight has dtype', lambda: stentor.torch.spectral_conv(x, weight.to(torch.complex64))),
                            ('bias', lambda: stentor.torch.spectral_conv(x, weight, bias[:1])),
                            ('modes', lambda: stentor.torch.spectral_conv(x[..., :3], weight)),
                            ('to_dense', lambda: stentor.torch.spectral_conv(x.to_sparse(), weight)),
                            ('to_dense', lambda: stentor.torch.spectral_conv(x, weight.to_sparse())),
                            ('weight is on meta', lambda: stentor.torch.spectral_conv(x, weight.to('meta'))),
                            ('bias is on meta', lambda: stentor.torch.spectral_conv(x, weight, bias.to('meta'))),
                            ('real numbers on 3 axes', lambda: conv(x[0])),
                            ('output_shape', lambda: conv(x.float(), output_shape=(0,))),
                            ('output_shape', lambda: conv(x.float(), output_shape=(8, 8))),
                            ('channels', lambda: conv(x.float()[:, :1])),
                            ('in_channels', lambda: stentor.torch.SpectralConv(2.5, 3, 4)),
                            ('n_modes', lambda: stentor.torch.SpectralConv(2, 3, 'a')),
                            ('init_std', lambda: stentor.torch.SpectralConv(2, 3, 4, init_std='a')),
                            ('give a tensor', lambda: conv(x.numpy())),
                            ('separable', lambda: stentor.torch.SpectralConv(2, 3, 4, separable=True)),
                            ('axes', lambda: stentor.torch.SpectralConv(2, 3, (4,) * 5)),
                            ('compatible', lambda: stentor.torch.SpectralConv(2, 3, 4, compatible='1.0')),
                            ('fno_block_precision', lambda: stentor.torch.SpectralConv(2, 3, 4, fno_block_precision='low')),
                            ('resolution_scaling_factor', lambda: stentor.torch.SpectralConv(2, 3, 4, resolution_scaling_factor=(2, 2))),
                            ('resolution_scaling_factor', lambda: stentor.torch.SpectralConv(2, 3, 4, resolution_scaling_factor=0)),
                            ('max_n_modes', lambda: stentor.torch.SpectralConv(2, 3, 4, max_n_modes=2)),
                            ('fft_norm', lambda: stentor.torch.SpectralConv(2, 3, 4, fft_norm='none'))):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                wrong()


class Docs(unittest.TestCase):
    def test_examples(self):
        import doctest
        result = doctest.testmod(stentor._spectral)
        self.assertGreater(result.attempted, 5)
        self.assertEqual(result.failed, 0)


if __name__ == '__main__':
    unittest.main()
