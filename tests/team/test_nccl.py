#!/usr/bin/env python3
"""One grid over several processes by NCCL, with emulated GPUs and the emulator's NCCL, or with real
ones (--gpus N): equal to one GPU to the bit; unequal problems are refused; a process that dies or
hangs, and each call that fails, end all processes within the time limit, and leave outputs as they
were."""
import concurrent.futures
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

RANKS = os.environ['STENTOR_RANKS']
COMMAND = os.environ['STENTOR_COMMAND']
MPIRUN = os.environ.get('STENTOR_MPIRUN') or shutil.which('mpirun')
GPUS = int(sys.argv.pop(sys.argv.index('--gpus') + 1)) if '--gpus' in sys.argv else 0
if GPUS:
    sys.argv.remove('--gpus')
SEED = int(os.environ.get('STENTOR_TEST_SEED') or time.time())
COUNT = int(os.environ.get('STENTOR_TEST_COUNT', '2'))  # of the calls of a function that fail
LIMIT = 2  # seconds without an exchange, where a process is lost
FUNCTIONS = ('ncclGetVersion', 'ncclGetUniqueId', 'ncclCommInitRankConfig', 'ncclCommGetAsyncError', 'ncclCommFinalize', 'ncclCommDestroy',
             'ncclCommAbort', 'ncclGroupStart', 'ncclGroupEnd', 'ncclSend', 'ncclRecv')
print(f'seed {SEED}', flush=True)
dice = random.Random(SEED)


class Nccl(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def start(self, count, *arguments, limit=60, own=None):
        """own: more variables of some ranks."""
        name = tempfile.mktemp(dir=self.folder.name)
        shared = {'STENTOR_MPI_SECONDS': str(limit), 'STENTOR_TEST_ID': name, 'STENTOR_TEST_COUNT': str(count),
                  'STENTOR_EMULATOR_NCCL': self.folder.name}
        return [subprocess.Popen([RANKS, *map(str, arguments)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 env={**os.environ, **shared, 'STENTOR_TEST_RANK': str(r), **((own or {}).get(r) or {})})
                for r in range(count)]

    def finish(self, processes, seconds=60):
        """Exit codes, outputs."""
        end = time.monotonic() + seconds
        try:
            out = [each.communicate(timeout=max(0.1, end - time.monotonic()))[0] for each in processes]
        except subprocess.TimeoutExpired:
            for each in processes:
                each.kill()
            self.fail(f'it did not end within {seconds} s: {[each.communicate()[0] for each in processes]}')
        return [each.returncode for each in processes], out

    def together(self, *arguments, **more):
        return self.finish(self.start(*arguments, **more))


class Equal(Nccl):
    def test_random_problems(self):
        """All sides, uneven parts, parts thinner than halos, fewer rows than processes, types,
        batches, sources, 1D to 3D."""
        for count in range(1, (GPUS or 8) + 1):
            codes, out = self.together(count, SEED + count, 20 if GPUS else 2 if count < 5 else 1, 'gpu')
            self.assertEqual((codes, ''.join(out)), ([0] * count, ''), f'seed {SEED + count}')


@unittest.skipIf(GPUS, 'a test of the emulator')
class Refusals(Nccl):
    def test_unequal_problems(self):
        codes, out = self.together(3, 'unequal')
        self.assertEqual(codes, [0, 0, 0], out)
        self.assertEqual(''.join(out).count('rank 2 of 3 differs from rank 0'), 3, out)

    def test_no_nccl(self):
        for variables, says in (({'STENTOR_NCCL_PATH': '/nowhere/libnccl.so.2'}, 'which STENTOR_NCCL_PATH names'),
                                ({'STENTOR_NCCL_PATH': os.environ['STENTOR_CUDA_PATH']}, 'lacks ncclGetVersion and is no NCCL of version 2.18'),
                                ({'STENTOR_EMULATOR_NCCL_VERSION': '21703'}, 'is NCCL 2.17, and 2.18 or later is needed')):
            codes, out = self.together(1, 'faults', own={0: variables})
            self.assertEqual(codes, [1])
            self.assertRegex(out[0], f'^no team: no usable NCCL: .*{says}.*\n$')
            told = subprocess.run([COMMAND, 'doctor', '--device', 'host'], env={**os.environ, **variables}, text=True, capture_output=True).stdout
            self.assertRegex(told, f'(?m)^NCCL +no usable NCCL: .*{says}')
        told = subprocess.run([COMMAND, 'doctor', '--device', 'host'], text=True, capture_output=True).stdout
        self.assertRegex(told, r'(?m)^NCCL +2\.28\.9: .*libnccl-emulated.so$')


@unittest.skipIf(GPUS, 'a test of the emulator')
class Lost(Nccl):
    def lose(self, way):
        count, lost = 3, dice.randint(0, 2)
        processes = self.start(count, way, lost, limit=LIMIT)
        begin = time.monotonic()
        if way == 'stop':
            self.assertIn('stopping', processes[lost].stdout.readline())
            begin = time.monotonic()
            processes[lost].send_signal(dice.choice((signal.SIGKILL, signal.SIGSTOP)))
        others = [each for r, each in enumerate(processes) if r != lost]
        codes, out = self.finish(others)
        self.assertLess(time.monotonic() - begin, 3 * LIMIT + 10)
        processes[lost].kill()
        processes[lost].communicate()
        self.assertEqual(codes, [0, 0], out)
        self.assertEqual(''.join(out).count('ended well'), 2, out)

    def test_a_rank_that_is_killed_or_hangs(self):
        self.lose('stop')

    def test_a_rank_that_leaves(self):
        self.lose('leave')

    def test_a_rank_that_does_not_come(self):
        processes = self.start(2, 'faults', limit=LIMIT, own={1: {'STENTOR_CUDA_PATH': '/nowhere'}})
        codes, out = self.finish(processes)
        self.assertEqual(codes, [1, 1])
        self.assertIn('not all 2 ranks came to make a team within 2 s', out[0])

    def test_a_kernel_that_fails_on_one_rank(self):
        """All processes report the error at the end of the run."""
        codes, out = self.together(3, 'faults', own={1: {'STENTOR_EMULATOR_FAIL': 'cuLaunchKernelEx:2,cuLaunchKernel:2'}})
        self.assertEqual(codes, [0, 0, 0], out)
        self.assertEqual(''.join(out).count('rank 1 of 3: cuLaunchKernel'), 3, out)


@unittest.skipIf(GPUS, 'a test of the emulator')
class Faults(Nccl):
    def fail(self, name, number, rank):
        codes, out = self.finish(self.start(2, 'faults', limit=1, own={rank: {'STENTOR_EMULATOR_FAIL': f'{name}:{number}'}}))
        for each in out:
            if 'ended well' not in each and not each.startswith('no team: ') or len(each.splitlines()) != 1:
                return f'{name}:{number} on rank {rank}: {codes} {out}'
        return ''

    def calls(self, rank):
        """How often a rank calls each function where nothing fails."""
        path = pathlib.Path(self.folder.name) / 'counts'
        codes, out = self.together(2, 'faults', own={rank: {'STENTOR_EMULATOR_COUNTS': str(path)}})
        self.assertEqual(codes, [0, 0], out)
        counts = dict(line.split() for line in path.read_text().splitlines())
        return {name: int(counts.get(name, 0)) for name in FUNCTIONS}

    def test_each_call_fails_once(self):
        """The first call of each function, and COUNT - 1 others."""
        cases = []
        for rank in range(2):
            for name, count in self.calls(rank).items():
                self.assertTrue(count or (name, rank) == ('ncclGetUniqueId', 1) or name == 'ncclCommAbort', name)
                if name == 'ncclCommAbort':  # which is called where another call fails
                    name, count = 'ncclSend:1,ncclCommAbort', 1
                others = dice.sample(range(2, count + 1), min(COUNT - 1, count - 1)) if count > 1 else []
                cases += [(name, number, rank) for number in ([1] if count else []) + others]
        print(f'{len(cases)} calls fail', flush=True)
        with concurrent.futures.ThreadPoolExecutor(4 * os.cpu_count()) as pool:
            problems = [each for each in pool.map(lambda case: self.fail(*case), cases) if each]
        self.assertEqual(problems, [])


@unittest.skipIf(not MPIRUN or os.environ.get('SANITIZE', 'none') != 'none', 'no mpirun, or a sanitizer')
class WithMpi(Nccl):
    RUN = ('run', '--size', '61x50', '--stencil', 'box-2d9p', '--boundary', 'wrap,reflect', '--strategy', 'direct', '--steps', '1')

    def mpirun(self, *parts, limit=60):
        """parts: lists of arguments of mpirun, each with the processes that it starts."""
        flags = ['--allow-run-as-root', '--oversubscribe'] if 'Open MPI' in subprocess.getoutput(f'{MPIRUN} --version') else []
        words = [word for part in parts for word in (':', *part)][1:]
        done = subprocess.run([MPIRUN, *flags, *map(str, words)], cwd=self.folder.name, text=True, capture_output=True, timeout=90,
                              stdin=subprocess.DEVNULL, env={**os.environ, 'STENTOR_MPI_SECONDS': str(limit), 'STENTOR_EMULATOR_NCCL': self.folder.name})
        return done.returncode, done.stdout, done.stderr

    def bytes_of(self, name):
        return (pathlib.Path(self.folder.name) / name).read_bytes()

    def test_halos_go_through_nccl_or_the_host(self):
        """If NCCL does not start in one process, all send through the host's memory."""
        count = GPUS or 3
        self.assertEqual(self.mpirun(['-np', 1, COMMAND, *self.RUN, '--out', 'one.npy'])[0], 0)
        run = [COMMAND, *self.RUN, '--out', 'all.npy']
        code, out, err = self.mpirun(['-np', count, *run])
        self.assertEqual((code, self.bytes_of('all.npy') == self.bytes_of('one.npy')), (0, True), err)
        self.assertIn('exchanges by NCCL', out)
        variable = 'STENTOR_NCCL_PATH=/nowhere' if GPUS else 'STENTOR_EMULATOR_FAIL=ncclCommGetAsyncError:1'
        code, out, err = self.mpirun(['-np', count - 1, *run], ['-np', 1, '-x', variable, *run])
        self.assertEqual((code, self.bytes_of('all.npy') == self.bytes_of('one.npy')), (0, True), err)
        self.assertNotIn('exchanges by NCCL', out)

    def test_a_rank_that_hangs_is_named(self):
        lost = dice.randint(0, 2)
        _, out, err = self.mpirun(['-np', 3, RANKS, 'stop', lost, 'gpu'], limit=LIMIT)
        self.assertRegex(out, rf'rank [0-2] ended well: .*: rank {lost} of 3 has not answered', err)
        self.assertNotIn('badly', out)


if __name__ == '__main__':
    unittest.main()
