#!/usr/bin/env python3
"""One grid over several processes, under mpirun: equal to one process to the bit; what differs
between processes is refused by one sentence; a process that dies or hangs ends all others within
the time limit, and leaves no output."""
import math
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

MPIRUN = os.environ.get('STENTOR_MPIRUN') or shutil.which('mpirun')
if not MPIRUN:
    print('skipped: there is no mpirun (apt install openmpi-bin)')
    sys.exit(77)
if os.environ.get('SANITIZE', 'none') != 'none':
    print('skipped: MPI keeps memory until the process ends, which sanitizers call leaks')
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'cli'))
from command import BINARY, CommandTest, npy_bytes  # noqa: E402

RANKS = os.environ['STENTOR_RANKS']
TRANSFORMS = os.environ['STENTOR_TEAM_FFT']
IS_OPEN_MPI = 'Open MPI' in subprocess.run([MPIRUN, '--version'], capture_output=True, text=True).stdout
FLAGS = ['--allow-run-as-root', '--oversubscribe'] if IS_OPEN_MPI else []
SEED = int(os.environ.get('STENTOR_TEST_SEED') or time.time())
LIMIT = 2  # seconds that a process may be silent, where one is lost; a busy machine takes longer
HEAT = ('--stencil', 'heat-2d', '--strategy', 'host')
print(f'seed {SEED}', flush=True)
dice = random.Random(SEED)


class Mpi(CommandTest):
    limit = 30

    def environment(self, **more):
        return {**os.environ, 'STENTOR_CACHE_DIR': ':memory:', 'STENTOR_MPI_SECONDS': str(self.limit), **more}

    def start(self, count, *command, flags=(), **more):
        return subprocess.Popen([MPIRUN, *FLAGS, *flags, '-np', str(count), *map(str, command)], cwd=self.path, text=True,
                                env=self.environment(**more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, process, seconds=60):
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.terminate()  # it ends its processes, stopped ones too
            self.fail(f'it did not end within {seconds} s: {process.communicate()}')
        return process.returncode, out, err

    def mpirun(self, count, *command, **more):
        return self.finish(self.start(count, *command, **more))

    def alone(self, *arguments):
        return self.succeed('run', '--device', 'host', '--quiet', *arguments)

    def sentences(self, err):
        return [line for line in err.splitlines() if line.startswith('stentor: ') and ' warning: ' not in line]

    def members(self, started):
        """The ranks' processes, by their number."""
        found = {}
        for end in range(100):
            for folder in pathlib.Path('/proc').glob('[0-9]*'):
                try:
                    words = (folder / 'environ').read_bytes().split(b'\0')
                    mine = os.readlink(folder / 'cwd') == str(self.path.resolve())
                    program = os.readlink(folder / 'exe')
                except OSError:
                    continue
                for word in words:
                    if mine and word.startswith((b'OMPI_COMM_WORLD_RANK=', b'PMI_RANK=')) and os.path.samefile(program, BINARY):
                        found[int(word.split(b'=')[1])] = int(folder.name)
            if len(found) == started:
                return found
            time.sleep(0.1)
        self.fail(f'{started} processes did not start: {found}')


class Equal(Mpi):
    def test_random_problems(self):
        """All sides, uneven parts, parts thinner than halos, fewer rows than ranks, types,
        batches, sources, 1D to 3D."""
        for count in range(1, 9):
            code, out, err = self.mpirun(count, RANKS, SEED + count, 12)
            self.assertEqual((code, out), (0, ''), f'seed {SEED + count}, {count} ranks: {out}{err}')

    def test_random_systems(self):
        for count in range(1, 9):
            code, out, err = self.mpirun(count, RANKS, 'systems', SEED + count, 12)
            self.assertEqual((code, out), (0, ''), f'seed {SEED + count}, {count} ranks: {out}{err}')

    def test_files_of_systems(self):
        """Levels, a batch, a coefficient, kept states; the last ranks have no rows; a sentence."""
        self.put('wave.stn', 'field u(2), v; coefficient k, g = 0.1; stencil dxf = taps y [0, 1] (-1 1), dxb = taps y [-1, 0] (-1 1)\n'
                             'boundary u = odd-mirror:reflect, wrap\nboundary v = nearest\nv.next = g*dxb(k*dxf(u))\n'
                             'u.next = u + 0.5*(u - u.prev) + v.next')
        for rows in (23, 4):
            for name, shape in (('u', (2, rows, 7)), ('b', (2, rows, 7)), ('v', (2, rows, 7)), ('k', (rows, 7))):
                self.put_npy(f'{name}.npy', shape, [dice.uniform(-1, 1) for _ in range(math.prod(shape))])
            given = ('--system', 'wave.stn', '--field', 'u=u.npy', '--field', 'u.prev=b.npy', '--field', 'v=v.npy', '--coefficient', 'k=k.npy')
            for more in (('--steps', 9), ('--steps', 8, '--every', 4)):
                with self.subTest(rows=rows, more=more):
                    kept = {name: ('--out', f'{name}1.npy', '--keep', f'u.prev={name}2.npy', '--keep', f'v={name}3.npy') for name in ('one', 'all', 'few')}
                    self.alone(*given, *more, '--strategy', 'host', *kept['one'])
                    self.succeed('run', *given, *more, *kept['few'], '--devices', 'host,host,host')
                    code, out, err = self.mpirun(5, BINARY, 'run', *given, *more, *kept['all'], '--device', 'host')
                    self.assertEqual((code, err), (0, ''))
                    self.assertIn('5 of 5 members' if rows > 20 else '4 of 5 members', out)
                    for i in '123':
                        for name in ('all', 'few'):
                            self.assertEqual((self.path / f'one{i}.npy').read_bytes(), (self.path / f'{name}{i}.npy').read_bytes())
        code, _, err = self.mpirun(3, BINARY, 'run', *given, '--keep', 'v=v.png')
        self.assertNotEqual(code, 0)
        self.assertEqual(len(self.sentences(err)), 1, err)
        self.refuse(2, '--devices and --device', 'run', *given, '--quiet', '--devices', 'host,host', '--device', 'host')

    def test_files_of_all_boundaries(self):
        for boundary in ('wrap', 'constant=3', 'nearest', 'reflect:constant', 'mirror,wrap', 'fixed:nearest'):
            shape = (dice.randint(5, 60), dice.randint(5, 30))
            with self.subTest(boundary=boundary, shape=shape):
                count = dice.randint(2, 5)
                self.put_npy('u.npy', shape, [dice.uniform(-1, 1) for _ in range(shape[0] * shape[1])])
                arguments = ('--in', 'u.npy', '--stencil', 'box-2d9p', '--strategy', 'host', '--boundary', boundary, '--steps', 23)
                self.alone(*arguments, '--out', 'one.npy')
                code, out, err = self.mpirun(count, BINARY, 'run', *arguments, '--out', 'all.npy')
                self.assertEqual(code, 0, err)
                self.assertIn(f'of {count} members', out)
                self.assertEqual((self.path / 'one.npy').read_bytes(), (self.path / 'all.npy').read_bytes())

    def test_files_of_other_kinds(self):
        """A batch of whole numbers with a source; random numbers; three axes of the other byte
        order in f16."""
        self.put_npy('u.npy', (3, 14, 9), [dice.randint(-9, 9) for _ in range(3 * 14 * 9)], descr='<i4')
        self.put_npy('b.npy', (3, 14, 9), [dice.uniform(-1, 1) for _ in range(3 * 14 * 9)], descr='<f4')
        self.put_npy('v.npy', (11, 6, 7), [dice.uniform(-1, 1) for _ in range(11 * 6 * 7)], descr='>f4')
        for arguments in (('--in', 'u.npy', '--source', 'b.npy', *HEAT, '--dtype', 'f32', '--boundary', 'fixed'),
                          ('--size', '2x31x8', '--random', 7, *HEAT, '--boundary', 'reflect'),
                          ('--in', 'v.npy', '--stencil', 'heat-3d', '--strategy', 'host', '--dtype', 'f16')):
            with self.subTest(arguments):
                self.alone(*arguments, '--steps', 9, '--out', 'one.npy')
                code, _, err = self.mpirun(4, BINARY, 'run', *arguments, '--steps', 9, '--out', 'all.npy', '--json')
                self.assertEqual(code, 0, err)
                self.assertEqual((self.path / 'one.npy').read_bytes(), (self.path / 'all.npy').read_bytes())

    def test_finalised_by_the_caller(self):
        code, out, err = self.mpirun(2, RANKS, 'finalised')
        self.assertEqual(code, 0, out + err)


class Transforms(Mpi):
    def test_random_transforms(self):
        for count in (1, 2, 3, 5, 8):
            code, out, err = self.mpirun(count, TRANSFORMS, '--mpi', 1, '--count', 30, '--seed', SEED + count)
            self.assertEqual((code, out), (0, ''), f'seed {SEED + count}, {count} ranks: {out}{err}')

    def test_long_periodic_runs(self):
        run = ('run', '--size', '40x36', '--random', 4, '--stencil', 'heat-2d', '--strategy', 'host-spectral', '--boundary', 'wrap',
               '--steps', 400)
        self.succeed(*run, '--device', 'host', '--out', 'one.npy')
        code, out, err = self.mpirun(3, BINARY, *run, '--out', 'all.npy')
        self.assertEqual(code, 0, err)
        self.assertIn('all 400 steps by transforms of the divided grid', out)
        one, several = (struct.unpack('<1440d', (self.path / name).read_bytes()[-1440 * 8:]) for name in ('one.npy', 'all.npy'))
        self.assertLess(max(abs(a - b) for a, b in zip(one, several)), 1e-13)

    def test_files(self):
        """Real numbers and complex ones, there and back, a batch, a transform of one axis."""
        self.put_npy('u.npy', (5, 6, 9), [dice.uniform(-1, 1) for _ in range(5 * 6 * 9)])
        self.succeed('fft', '--in', 'u.npy', '--real', '--out', 'h.npy', '--device', 'host')
        for arguments in (('--in', 'u.npy'), ('--in', 'u.npy', '--real', '--axes', '1,2'), ('--in', 'h.npy', '--inverse', '--norm', 'ortho'),
                          ('--in', 'h.npy', '--real', '--inverse', '--points', 9), ('--size', '41', '--real', '--random', 3)):
            with self.subTest(arguments):
                self.succeed('fft', *arguments, '--device', 'host', '--out', 'one.npy')
                code, _, err = self.mpirun(dice.randint(2, 6), BINARY, 'fft', *arguments, '--out', 'all.npy')
                self.assertEqual(code, 0, err)
                self.assertEqual((self.path / 'one.npy').read_bytes(), (self.path / 'all.npy').read_bytes())

    def test_one_sentence(self):
        self.put_npy('u.npy', (8, 8), [1.0] * 64)
        fft = (BINARY, 'fft', '--in', 'u.npy')
        for says, command in (('transform the last axes', (*fft, '--axes', '0')), ('--in - is not offered', (BINARY, 'fft', '--in', '-')),
                              ('--devices is not offered', (*fft, '--devices', 'host')), ('write .npy only', (*fft, '--out', 'v.raw')),
                              ('differs from rank 0', (*fft, ':', '-np', 1, *fft, '--inverse'))):
            with self.subTest(says):
                code, _, err = self.mpirun(2, *command)
                self.assertEqual((code, len(self.sentences(err))), (2, 1), err)
                self.assertIn(says, err)


class Refusals(Mpi):
    def test_unequal_problems(self):
        code, out, err = self.mpirun(3, RANKS, 'unequal')
        self.assertEqual(code, 0, out + err)
        self.assertEqual(out.count('rank 2 of 3 differs from rank 0'), 3, out)
        self.assertEqual(out.count('rank 2 of 3: '), 6, out)

    def test_one_sentence(self):
        self.put_npy('u.npy', (8, 8), [1.0] * 64)
        self.put_npy('f.npy', (8, 8), [1.0] * 64, fortran=True)
        run = (BINARY, 'run', '--in', 'u.npy', *HEAT)
        cases = (
            (9, 'nothing.npy', (BINARY, 'run', '--in', 'nothing.npy', *HEAT)),
            (10, 'Fortran order', (BINARY, 'run', '--in', 'f.npy', *HEAT)),
            (2, '--png is not offered', (*run, '--png', 'x.png')),
            (2, 'with --checkpoint FILE alone', (*run, '--steps', 4, '--every', 2)),
            (9, 'nowhere', (*run, '--out', 'nowhere/v.npy')),
            (2, 'differs from rank 0', (*run, '--steps', 4, '--out', 'v.npy', ':', '-np', 1, *run, '--steps', 5, '--out', 'v.npy')))
        # Mpirun takes two seconds to end after a failure.
        started = [self.start(2, *command) for _, _, command in cases]
        for (code, says, _), process in zip(cases, started):
            with self.subTest(says):
                got, _, err = self.finish(process)
                self.assertEqual(got, code, err)
                self.assertEqual(len(self.sentences(err)), 1, err)
                self.assertIn(says, err)
                self.assertFalse((self.path / 'v.npy').exists())

    def test_a_rank_that_cancels(self):
        """By its progress function: all end, with one reason."""
        rank = dice.randint(0, 2)
        _, out, err = self.mpirun(3, RANKS, 'cancel', rank)
        self.assertEqual(out.count(f'ended well: rank {rank} of 3 failed: the progress function cancelled'), 3, out + err)

    def test_a_file_that_one_rank_sees(self):
        for folder in ('a', 'b'):
            (self.path / folder).mkdir()
        self.put_npy('a/u.npy', (8, 8), [1.0] * 64)
        run = (BINARY, 'run', '--in', 'u.npy', '--out', self.path / 'v.npy', *HEAT)
        if not IS_OPEN_MPI:
            self.skipTest('folders are named otherwise')
        code, _, err = self.mpirun(1, '--wdir', self.path / 'a', *run, ':', '-np', 1, '--wdir', self.path / 'b', *run)
        self.assertEqual(code, 9, err)
        self.assertRegex(err, r"stentor: rank 1 of 2: cannot open 'u.npy'")
        self.put_npy('b/u.npy', (8, 8), [1.0] * 64, fortran=True)
        code, _, err = self.mpirun(1, '--wdir', self.path / 'a', *run, ':', '-np', 1, '--wdir', self.path / 'b', *run)
        self.assertEqual(code, 10, err)
        self.assertRegex(err, r"stentor: rank 1 of 2: 'u.npy' is in Fortran order")
        self.assertEqual(sorted(os.listdir(self.path)), ['a', 'b'])

    def test_no_mpi(self):
        code, _, err = self.mpirun(2, BINARY, 'run', '--size', '8x8', *HEAT, STENTOR_MPI_PATH=str(self.path / 'libmpi.so.40'))
        self.assertEqual(code, 8, err)
        self.assertIn('no usable MPI was found at', err)
        done = self.stentor('doctor', STENTOR_MPI_PATH=str(self.path / 'libmpi.so.40'))
        self.assertRegex(done.stdout, 'MPI +not found')
        self.assertRegex(self.stentor('doctor').stdout, r'MPI +\S.*: libmpi')


class Lost(Mpi):
    limit = LIMIT

    def test_a_rank_that_hangs(self):
        lost = dice.randint(0, 3)
        begin = time.monotonic()
        _, out, err = self.mpirun(4, RANKS, 'stop', lost)
        self.assertLess(time.monotonic() - begin, 6 * LIMIT + 10)
        self.assertGreaterEqual(len(re.findall(rf'rank [0-3] ended well: .*: rank {lost} of 4 has not answered', out)), 1, out + err)
        self.assertNotIn('badly', out)

    def test_a_rank_that_leaves(self):
        """mpirun, asked to, lets the others live on."""
        if not IS_OPEN_MPI:
            self.skipTest('this mpirun ends all others')
        lost = dice.randint(0, 2)
        _, out, err = self.mpirun(3, RANKS, 'leave', lost, flags=['--enable-recovery'])
        self.assertEqual(len(re.findall(rf'rank [0-2] ended well: .*: rank {lost} of 3 has not answered', out)), 2, out + err)

    def test_a_rank_that_computes_for_longer_than_the_limit(self):
        """Five rows are too few for two parts of three and more, so that one rank waits for the
        other's whole run."""
        begin = time.monotonic()
        code, out, err = self.mpirun(2, BINARY, 'run', '--size', '5x3000', '--stencil', 'star-2d13p', '--strategy', 'host',
                                     '--threads', 1, '--steps', 280000)
        self.assertEqual(code, 0, out + err)
        self.assertIn('1 of 2 members', out)
        if time.monotonic() - begin < 2 * LIMIT:
            self.skipTest('this machine is too fast to tell')

    def test_a_rank_that_makes_no_team(self):
        lost = dice.randint(0, 2)
        _, out, err = self.mpirun(3, RANKS, 'absent', lost)
        self.assertGreaterEqual(out.count('ended well: not all 3 ranks came to make a team'), 1, out + err)
        self.assertNotIn('badly', out)

    def lose(self, number, old):
        """A rank of a long run gets a signal: the exit code, sentences seconds until the end."""
        if old:
            self.put('v.npy', 'old')
        process = self.start(3, BINARY, 'run', '--size', '300x300', '--out', 'v.npy', *HEAT, '--steps', 10**8)
        pids = self.members(3)
        time.sleep(1)
        lost = dice.randint(0, 2)
        begin = time.monotonic()
        os.kill(pids[lost], number)
        code, _, err = self.finish(process)
        seconds = time.monotonic() - begin
        self.assertNotEqual(code, 0)
        self.assertEqual(sorted(os.listdir(self.path)), ['v.npy'] if old else [])
        if old:
            self.assertEqual((self.path / 'v.npy').read_bytes(), b'old')
        self.assertLess(seconds, 4 * LIMIT + 5)
        for pid in pids.values():
            self.assertFalse(pathlib.Path(f'/proc/{pid}/exe').exists(), f'process {pid} lives on')
        return lost, err

    def test_a_run_one_of_whose_ranks_is_killed(self):
        lost, err = self.lose(signal.SIGKILL, True)
        # Mpirun's own message names the rank.
        self.assertLessEqual(len(self.sentences(err)), 1, err)
        if IS_OPEN_MPI:
            self.assertIn(f'rank {lost}', err)

    def test_a_run_one_of_whose_ranks_hangs(self):
        lost, err = self.lose(signal.SIGSTOP, False)
        self.assertEqual(len(self.sentences(err)), 1, err)
        self.assertIn(f'stentor: rank {lost} of 3 has not answered for {LIMIT} s', err)


    def test_a_rank_killed_while_it_writes(self):
        """A file is complete or absent, and no temporary file remains."""
        if not IS_OPEN_MPI:
            self.skipTest('this mpirun kills all others at once')
        process = self.start(3, BINARY, 'run', '--size', '3000x4000', '--out', 'v.npy', *HEAT)
        pids = self.members(3)
        blocks = 0
        while blocks * 512 < 40 << 20 and process.poll() is None:  # more than one rank's part
            for path in self.path.iterdir():
                try:
                    blocks = path.stat().st_blocks
                except OSError:
                    pass
        os.kill(pids[0], signal.SIGKILL)  # it began the file
        self.finish(process)
        self.assertLessEqual(set(os.listdir(self.path)), {'v.npy'})
        if (self.path / 'v.npy').exists():
            self.assertEqual((self.path / 'v.npy').stat().st_size, 128 + 3000 * 4000 * 8)


class Checkpoints(Mpi):
    STEPS = 12000
    RUN = ('--steps', STEPS, '--out', 'v.npy', '--strategy', 'host')

    def steps_of(self, name):
        """That a checkpoint has made; 0: there is none."""
        path = self.path / name
        found = re.search(rb'checkpoint: step (\d+) of problem', path.read_bytes()[:200]) if path.exists() else None
        return int(found.group(1)) if found else 0

    def test_killed_and_begun_again(self):
        self.kill_and_begin_again('--size', '60x50', '--stencil', 'heat-2d', '--boundary', 'fixed')

    def test_systems_killed_and_begun_again(self):
        """Two levels, two fields, a batch, a coefficient: one file has all of the state."""
        self.put('wave.stn', 'field u(2), v; coefficient k, g; stencil lap = laplace-2d\nboundary u = reflect\n'
                             'u.next = 1.9*u - 0.9*u.prev + k*lap(u)\nv.next = 0.9*v + g*u.next')
        for name, shape in (('u', (2, 60, 9)), ('b', (2, 60, 9)), ('k', (60, 9))):
            self.put_npy(f'{name}.npy', shape, [dice.uniform(0, 0.5) for _ in range(math.prod(shape))])
        self.kill_and_begin_again('--system', 'wave.stn', '--field', 'u=u.npy', '--field', 'v=b.npy', '--coefficient', 'k=k.npy',
                                  '--coefficient', 'g=0.01', '--keep', 'u.prev=p.npy', '--keep', 'v=w.npy')

    def results(self):
        return [(self.path / name).read_bytes() for name in ('v.npy', 'p.npy', 'w.npy') if (self.path / name).exists()]

    def kill_and_begin_again(self, *problem):
        """By another number of ranks, in one process, and on several devices of it."""
        run = ('run', *problem, *self.RUN)
        before = set(os.listdir(self.path))
        self.succeed(*run, '--device', 'host', '--quiet')
        want, made = self.results(), set(os.listdir(self.path)) - before
        for name in made:
            (self.path / name).unlink()
        checkpointed = (*run, '--every', 100, '--checkpoint', 'c.npy')
        process = self.start(2, BINARY, *checkpointed)
        victim = dice.choice(list(self.members(2).values()))
        while self.steps_of('c.npy') < self.STEPS / 2 and process.poll() is None:
            time.sleep(0.002)
        os.kill(victim, signal.SIGKILL)
        self.finish(process)
        self.assertEqual(set(os.listdir(self.path)) - before, {'c.npy'})
        state, steps = (self.path / 'c.npy').read_bytes(), self.steps_of('c.npy')
        self.assertGreaterEqual(steps, self.STEPS / 2)
        for count in (3, 1, 0):
            self.put('c.npy', state)
            if count:
                code, out, err = self.mpirun(count, BINARY, *checkpointed)
                self.assertEqual(code, 0, err)
            else:
                out = self.succeed(*checkpointed, '--devices', 'host,host').stdout
            self.assertIn(f'goes on after {steps} steps', out)
            self.assertEqual(self.results(), want)
            self.assertEqual(set(os.listdir(self.path)) - before, made)

    def test_refusals(self):
        run = ('run', '--size', '8x8', *HEAT, '--steps', 4, '--device', 'host')
        self.put('c.npy', npy_bytes((8, 8), [1.0] * 64))
        self.refuse(10, 'exists and is not a checkpoint', *run, '--every', 2, '--checkpoint', 'c.npy')
        self.refuse(2, 'needs --every', *run, '--checkpoint', 'd.npy')
        self.succeed(*run, '--every', 2, '--checkpoint', 'd.npy')
        self.refuse(2, 'of another problem', *run, '--boundary', 'fixed', '--every', 2, '--checkpoint', 'd.npy')
        self.refuse(2, 'of other files', *run, '--random', 5, '--every', 2, '--checkpoint', 'd.npy')
        self.refuse(2, 'would overwrite', *run, '--every', 2, '--checkpoint', 'd.npy', '--out', './d.npy')
        # It is an .npy as any other.
        self.succeed('run', '--in', 'd.npy', *HEAT, '--device', 'host', '--out', 'e.npy')


class OnGpus(Mpi):
    def test_the_emulators(self):
        if 'STENTOR_EMULATOR_DEVICES' not in os.environ:
            self.skipTest('no emulated GPUs')
        code, out, err = self.mpirun(3, RANKS, SEED, 5, 'gpu')
        self.assertEqual((code, out), (0, ''), f'seed {SEED}: {out}{err}')
        code, out, err = self.mpirun(3, RANKS, 'systems', SEED, 1, 'gpu')
        self.assertEqual((code, out), (0, ''), f'seed {SEED}: {out}{err}')
        code, out, err = self.mpirun(3, TRANSFORMS, '--gpus', 1, '--mpi', 1, '--count', 3, '--seed', SEED, STENTOR_CUFFT_PATH='none')
        self.assertEqual((code, out), (0, ''), f'seed {SEED}: {out}{err}')


if __name__ == '__main__':
    unittest.main()
