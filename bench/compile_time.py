#!/usr/bin/env python3
"""Compile times of kernels: CPU seconds of NVRTC by template, over random problems; needs no GPU.

Usage: compile_time.py [--count N] [--seed S] [--arch sm_90] [--build DIR] [--templates DIR]
                       [--only PREFIX,...] [--save FILE | --kernels FILE] [--keep DIR]
                       [--limit SECONDS]

Draws stencils, transforms and Fourier layers (the seed is taken from the clock and printed). For
each it takes the kernels of the chosen plan and of the best candidate of every other strategy.
Each kernel is compiled once with the options of src/compile/compile.c, in one process; the result
is the user time of this process in nvrtcCompileProgram. Prints for each template: the number of
kernels, their median and longest seconds, and the parameters in which the longest one differs from
kernel_templates/params.cuh.

  --only PREFIX,...  only templates whose names begin with one of these
  --save FILE        writes the drawn kernels for --kernels, which measures them again with other
                     templates
  --keep DIR         writes the cubin and PTX of each kernel, named by its number
  --limit SECONDS    the exit status is 1 if a kernel takes longer
"""
import argparse
import collections
import ctypes
import itertools
import json
import os
import pathlib
import random
import re
import resource
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRATEGIES = {'stencil': ['auto', 'direct', 'lowrank', 'segment', 'spectral', 'sourced', 'aperiodic', 'sparse', 'padded', 'chunked'],
              'fft': ['auto', 'fft', 'block'], 'layer': ['auto', 'fno']}
SIDES = ['wrap', 'fixed', 'reflect', 'mirror', 'nearest', 'constant=1', 'constant=1:fixed', 'reflect:nearest']
NAMED = {1: ['heat-1d', '1d5p', '1d7p', 'laplace-1d:order=14', 'gaussian-1d:sigma=2', 'gaussian-1d:sigma=16'],
         2: ['heat-2d', 'box-2d9p', 'star-2d13p', 'box-2d49p', 'laplace-2d:order=8', 'gaussian-2d:sigma=1', 'gaussian-2d:sigma=6'],
         3: ['heat-3d', 'box-3d27p', 'laplace-3d:order=4', 'laplace-3d:order=8', 'gaussian-3d:sigma=1', 'gaussian-3d:sigma=2']}
BYTES = {'f64': 8, 'f32': 4, 'f16': 2}


# ---- problems, as dictionaries -------------------------------------------------------------------

def draw_weights(dice, rank):
    """Taps of a random kind: {offset: weight}, whose magnitudes sum to 1."""
    kind = dice.choice(['star', 'dense', 'separable', 'upwind', 'sparse', 'symmetric'])
    radius = dice.choice([1, 1, 2, 3, 4, 6, 8, 12, 16][:9 if rank == 1 else 8 if rank == 2 else 5])
    reach = range(0 if kind == 'upwind' else -radius, radius + 1)
    factors = [{k: dice.uniform(0.1, 1) for k in reach} for _ in range(rank)]
    taps = {}
    for offset in itertools.product(reach, repeat=rank):
        axes = sum(k != 0 for k in offset)
        if kind in ('star', 'upwind') and axes > 1 or kind == 'sparse' and dice.random() < 0.6:
            continue
        weight = dice.uniform(-0.3, 1)
        if kind == 'separable':
            weight = 1
            for factor, k in zip(factors, offset):
                weight *= factor[k]
        taps[offset] = taps.get(tuple(-k for k in offset), weight) if kind == 'symmetric' else weight
    total = sum(map(abs, taps.values())) or 1
    return [[list(offset), weight / total] for offset, weight in taps.items()] or [[[0] * rank, 1.0]]


def draw_extents(dice, rank, size, least):
    side = (1e5 * 2e4 ** dice.random() / size) ** (1 / rank)
    if dice.random() < 0.15:
        side = dice.uniform(8, 80)
    unit = dice.choice([1, 1, 16, 64])
    return [-(-max(least, int(side * dice.uniform(0.6, 1.6))) // unit) * unit for _ in range(rank)]


def draw_stencil(dice):
    rank, dtype = dice.choice([1, 2, 2, 3, 3]), dice.choice(['f64', 'f32', 'f32', 'f16'])
    taps = dice.choice(NAMED[rank]) if dice.random() < 0.5 else draw_weights(dice, rank)
    sides = [dice.choice(SIDES)] * rank if dice.random() < 0.6 else [dice.choice(SIDES) for _ in range(rank)]
    return {'kind': 'stencil', 'rank': rank, 'dtype': dtype, 'taps': taps, 'extent': draw_extents(dice, rank, BYTES[dtype], 4), 'sides': sides,
            'steps': 1 if dice.random() < 0.35 else int(10 ** (5 * dice.random())), 'tolerance': dice.choice([0] * 6 + [1e-3, 5e-3]),
            'source': dice.random() < 0.1, 'batch': dice.choice([1] * 6 + [5])}


def draw_fft(dice):
    rank, dtype = dice.choice([1, 1, 2, 3]), dice.choice(['f64', 'f32', 'f32', 'f16'])
    extent = draw_extents(dice, rank, 2 * BYTES[dtype], 2)
    if dice.random() < 0.5:
        extent = [1 << max(1, round(n.bit_length() - 0.5)) for n in extent]
    return {'kind': 'fft', 'rank': rank, 'dtype': dtype, 'extent': extent, 'form': dice.choice([0, 0, 1, 2]), 'direction': dice.choice([0, 1]),
            'batch': dice.choice([1, 1, 3, 64])}


def draw_layer(dice):
    rank, dtype = dice.choice([1, 2, 2, 3]), dice.choice(['f64', 'f32', 'f32', 'f16'])
    extent = [dice.choice([16, 32, 48, 64, 85, 128, 256][:7 if rank < 3 else 4]) for _ in range(rank)]
    return {'kind': 'layer', 'rank': rank, 'dtype': dtype, 'extent': extent, 'modes': [max(1, int(n // 2 * dice.uniform(0.1, 1))) for n in extent],
            'batch': dice.choice([1, 4, 16]), 'channels': [dice.choice([1, 3, 16, 32, 64]) for _ in range(2)], 'pass': dice.choice([0, 0, 1, 2]),
            'options': [dice.choice([0, 1]) for _ in range(6)], 'tolerance': dice.choice([0, 0, 1e-3])}


def draw(seed, count):
    dice = random.Random(seed)
    return [dice.choice([draw_stencil] * 6 + [draw_fft, draw_layer])(dice) for _ in range(count)]


# ---- the kernels of their plans ------------------------------------------------------------------

class Planner:
    """The library with an NVRTC that compiles nothing, so that kernels take milliseconds."""

    def __init__(self, build, arch):
        os.environ.update(STENTOR_NVRTC_PATH=str(build / 'tests/compile/libnewnvrtc.so'), FAKE_NVRTC_LOG=os.devnull)
        sys.path.insert(0, str(build / 'python'))
        from stentor import _library  # pylint: disable=import-outside-toplevel,import-error
        self.ffi, self.lib = _library.ffi, _library.lib
        options = self.struct('stn_context_options')
        words = [self.ffi.new('char[]', text.encode()) for text in (arch, ':memory:')]
        options.arch, options.cache_dir = words
        self.context = self.take('stn_context *', self.lib.stn_context_create, options)

    def struct(self, name):
        made = self.ffi.new(name + ' *')
        made.struct_size = self.ffi.sizeof(name)
        return made

    def take(self, what, make, *arguments):
        out, error = self.ffi.new(what + '*'), self.ffi.new('stn_error *')
        if make(*arguments, out, error):
            raise ValueError(self.ffi.string(error.message).decode())
        return out[0]

    def stencil(self, problem):
        if isinstance(problem['taps'], str):
            return self.take('stn_stencil *', self.lib.stn_stencil_parse, problem['taps'].encode())
        taps = [(offset, weight) for offset, weight in problem['taps']]
        return self.take('stn_stencil *', self.lib.stn_stencil_create, problem['rank'], len(taps), self.ffi.new('stn_tap[]', taps))

    def work(self, problem):
        """The struct of a problem, and the function that creates its plans."""
        lib = self.lib
        kind = problem['kind']
        p = self.struct({'stencil': 'stn_problem', 'fft': 'stn_transform', 'layer': 'stn_spectral_conv'}[kind])
        for axis, n in enumerate(problem['extent']):
            p.extent[axis] = n
        p.dtype, p.batch = ['f64', 'f32', 'f16'].index(problem['dtype']), problem['batch']
        if kind == 'stencil':
            p.stencil, p.steps, p.tolerance, p.has_source = self.stencil(problem), problem['steps'], problem['tolerance'], problem['source']
            for axis, sides in enumerate(problem['sides']):
                error = self.ffi.new('stn_error *')
                assert not lib.stn_boundary_parse(sides.encode(), p.boundary[axis], error), self.ffi.string(error.message)
            return p, lib.stn_plan_create
        p.rank = problem['rank']
        if kind == 'fft':
            p.kind, p.direction = problem['form'], problem['direction']
            return p, lib.stn_plan_create_fft
        p.in_channels, p.out_channels = problem['channels']
        p.complex_data, p.shared_weights, p.has_bias, p.has_skip, p.mode_choice, p.activation = problem['options']
        setattr(p, 'pass', problem['pass'])
        p.tolerance = problem['tolerance']
        for axis, n in enumerate(problem['modes']):
            p.modes[axis] = n
        return p, lib.stn_plan_create_spectral_conv

    def kernels(self, problem, strategy):
        """(template, params.cuh) of each kernel; none if the strategy does not apply."""
        options = self.struct('stn_plan_options')
        word = self.ffi.new('char[]', strategy.encode())
        options.strategy, options.no_auto_workspace = word, 1
        try:
            p, create = self.work(problem)
            plan = self.take('stn_plan *', create, self.context, p, options)
        except ValueError:
            return []
        found = []
        for i in range(self.lib.stn_plan_kernel_count(plan)):
            info, error = self.ffi.new('stn_kernel_info *'), self.ffi.new('stn_error *')
            assert not self.lib.stn_plan_kernel(plan, i, info, error), self.ffi.string(error.message)
            found.append((self.ffi.string(info.name).decode(), self.ffi.string(info.params).decode()))
        self.lib.stn_plan_destroy(plan)
        if problem['kind'] == 'stencil':
            self.lib.stn_stencil_destroy(self.ffi.cast('stn_stencil *', p.stencil))
        return found


def label(problem, strategy):
    words = [strategy, problem['kind'] if problem['kind'] != 'stencil' or not isinstance(problem['taps'], str) else problem['taps'],
             'x'.join(map(str, problem['extent'])), problem['dtype']]
    if problem['kind'] == 'stencil':
        words += [','.join(problem['sides']), f"T={problem['steps']}"]
        if not isinstance(problem['taps'], str):
            words.append(f"{len(problem['taps'])} taps, radius {max(abs(k) for offset, _ in problem['taps'] for k in offset)}")
    return ' '.join(words)


def gather(planner, problems):
    """Each kernel once: {(template, params): the first plan that uses it}."""
    kernels = {}
    for problem in problems:
        for strategy in STRATEGIES[problem['kind']]:
            for kernel in planner.kernels(problem, strategy):
                kernels.setdefault(kernel, label(problem, strategy))
    return kernels


# ---- compiling -----------------------------------------------------------------------------------

def find_nvrtc():
    given = os.environ.get('STENTOR_NVRTC_PATH')  # a file or its folder
    if given:
        return next(map(str, sorted(pathlib.Path(given).glob('libnvrtc.so*'))), given)
    folders = [os.environ.get('CUDA_HOME', ''), '/usr/local/cuda', *sorted(map(str, pathlib.Path('/usr/local').glob('cuda-*')), reverse=True)]
    found = (str(file) for folder in folders if folder for where in ('lib64', 'lib') for file in sorted(pathlib.Path(folder, where).glob('libnvrtc.so*')))
    return next(found, 'libnvrtc.so')


class Compiler:
    def __init__(self, path, templates, arch):
        self.call = ctypes.CDLL(path)
        files = {str(file.relative_to(templates)): file.read_bytes() for file in templates.glob('**/*.cu*')}
        self.sources = {pathlib.Path(name).stem: text for name, text in files.items() if name.endswith('.cu')}
        self.headers = {name: text for name, text in files.items() if name.endswith('.cuh') and name != 'params.cuh'}
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = (major.value, minor.value)
        source = (ROOT / 'src/compile/compile.c').read_text(encoding='utf-8')
        given = re.search(r'stn_compile_options\[\] = \{(.*?)\};', source, re.DOTALL)[1]
        self.options = [f'--gpu-architecture={arch}', *re.findall(r'"([^"]+)"', given)]
        self.options += ['--no-cache'] * (self.version >= (12, 9)) + ['--minimal'] * (self.version >= (12, 4))

    def bytes_of(self, program, what):
        size = ctypes.c_size_t()
        getattr(self.call, f'nvrtcGet{what}Size')(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        getattr(self.call, f'nvrtcGet{what}')(program, text)
        return text.raw

    def seconds(self, template, params, keep=None):
        headers = {**self.headers, 'params.cuh': params.encode()}
        program, count = ctypes.c_void_p(), len(headers)
        texts, names = ((ctypes.c_char_p * count)(*values) for values in (headers.values(), map(str.encode, headers)))
        self.call.nvrtcCreateProgram(ctypes.byref(program), self.sources[template], template.encode() + b'.cu', count, texts, names)
        options = (ctypes.c_char_p * len(self.options))(*map(str.encode, self.options))
        begin = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        failed = self.call.nvrtcCompileProgram(program, len(self.options), options)
        took = resource.getrusage(resource.RUSAGE_SELF).ru_utime - begin
        if failed:
            sys.exit(f'{template} did not compile: {self.bytes_of(program, "ProgramLog").decode()}')
        if keep:
            for what in ('PTX', 'CUBIN'):
                keep.with_suffix('.' + what.lower()).write_bytes(self.bytes_of(program, what).rstrip(b'\0' if what == 'PTX' else b''))
        self.call.nvrtcDestroyProgram(ctypes.byref(program))
        return took


# ---- the table -----------------------------------------------------------------------------------

def values(params):
    return dict(re.findall(r'^constexpr int (\w+) = (-?\d+);', params, re.MULTILINE))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--count', default=60, type=int)
    parser.add_argument('--seed', default=time.time_ns() // 1000 % 10**9, type=int)
    parser.add_argument('--arch', default='sm_90')
    parser.add_argument('--build', default=ROOT / 'build', type=pathlib.Path)
    parser.add_argument('--templates', default=ROOT / 'kernel_templates', type=pathlib.Path)
    parser.add_argument('--only', default='')
    parser.add_argument('--save', type=pathlib.Path)
    parser.add_argument('--kernels', type=pathlib.Path)
    parser.add_argument('--keep', type=pathlib.Path)
    parser.add_argument('--limit', default=float('inf'), type=float)
    options = parser.parse_args()
    nvrtc = find_nvrtc()
    if options.kernels:
        kernels = [tuple(row) for row in json.loads(options.kernels.read_text(encoding='utf-8'))]
    else:
        print(f'seed {options.seed}, {options.count} problems', flush=True)
        found = gather(Planner(options.build.resolve(), options.arch), draw(options.seed, options.count))
        kernels = [(*kernel, plan) for kernel, plan in found.items()]
    kernels = [row for row in kernels if row[0].startswith(tuple(options.only.split(',')))]
    if options.save:
        options.save.write_text(json.dumps(kernels), encoding='utf-8')
    compiler = Compiler(nvrtc, options.templates, options.arch)
    print(f'{len(kernels)} kernels, NVRTC {".".join(map(str, compiler.version))} for {options.arch}', flush=True)
    if options.keep:
        options.keep.mkdir(exist_ok=True)
    # NVRTC's first compile is not counted.
    compiler.seconds('direct_any', (options.templates / 'params.cuh').read_text(encoding='utf-8'))
    took = collections.defaultdict(list)
    for number, (template, params, plan) in enumerate(kernels):
        keep = options.keep / f'{number:04d}-{template}' if options.keep else None
        took[template].append((compiler.seconds(template, params, keep), number, params, plan))
    plain = values((options.templates / 'params.cuh').read_text(encoding='utf-8'))
    print(f'{"template":20} {"kernels":>7} {"median":>7} {"longest":>7}  the longest')
    for template, rows in sorted(took.items(), key=lambda each: -max(each[1])[0]):
        longest, number, params, plan = max(rows)
        print(f'{template:20} {len(rows):7d} {statistics.median(row[0] for row in rows):7.3f} {longest:7.3f}  number {number}, {plan}:',
              *(f'{name}={value}' for name, value in values(params).items() if plain.get(name) != value))
    longest = max((row[0] for rows in took.values() for row in rows), default=0)
    return int(longest > options.limit)


if __name__ == '__main__':
    sys.exit(main())
