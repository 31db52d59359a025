"""The settings of stentor.configure, and the command python3 -m stentor.

Each test runs in a process of its own.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest


def python(*arguments, **more):
    env = {**os.environ, 'STENTOR_CACHE_DIR': ':memory:', 'STENTOR_CUDA_PATH': '/absent', **more}
    return subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, timeout=100, check=False)


def says(test, program, **more):
    done = python('-c', 'import numpy as np, stentor\n' + program, **more)
    test.assertEqual(done.returncode, 0, done.stderr)
    return done.stdout.strip()


class Settings(unittest.TestCase):
    def test_threads_and_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            found = json.loads(says(self, f"""
from stentor._context import Context
from stentor._library import lib
stentor.configure(threads=3, cache_dir={folder!r})
print(Context(-1).describe(lib.STN_JSON))"""))
            self.assertEqual((found['device']['threads'], found['cache']['dir']), (3, os.path.realpath(folder)))

    def test_later_calls_use_what_is_set(self):
        """Settings apply to later calls, also after earlier calls; existing plans keep working."""
        said = says(self, """
from stentor._context import HOST, context
plan = stentor.Plan((64,), 'heat-1d', device='host')
before, x = context(HOST), np.arange(64.)
first = stentor.gaussian_filter(x, 2)
stentor.configure(threads=2)
assert context(HOST) is not before
assert (stentor.gaussian_filter(x, 2) == first).all() and plan(x).shape == (64,)
stentor.configure(cache_dir=None)
from stentor._library import lib
print(context(HOST).describe(lib.STN_TEXT).splitlines()[1])""")
        self.assertIn('2 threads', said)

    def test_log(self):
        program = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, format='%(name)s %(levelname)s %(message)s', stream=sys.stdout)
heard = []
stentor.configure(log={0})
from stentor._context import Context
Context(None)
if heard: print(heard[0])"""
        self.assertIn("('info', 'running on the host: ", says(self, program.format('lambda *said: heard.append(said)')))
        self.assertIn('stentor INFO running on the host: ', says(self, program.format("'info'")))
        self.assertEqual(says(self, program.format("'error'")), '')
        self.assertEqual(says(self, program.format('None')), '')

    def test_packs(self):
        with tempfile.TemporaryDirectory() as folder:
            pack = pathlib.Path(folder, 'a.stnpack')
            pack.write_bytes(b'no pack')
            done = python('-c', f"import stentor; stentor.configure(packs=[{str(pack)!r}]); stentor.Plan((8,), 'heat-1d', device='host')")
            self.assertIn('a.stnpack', done.stderr.splitlines()[-1])

    def test_refused(self):
        for given, said in (('threads=-1', 'threads'), ('threads=5000', '4096'), ('threads=1.5', 'whole number'), ("log='loud'", 'debug'),
                            ('log=3', 'debug'), ('cache_dir=3', 'cache_dir'), ("packs='a'", 'sequence'), ("packs=['/absent.stnpack']", 'no pack')):
            with self.subTest(given=given):
                self.assertIn(said, says(self, f"""
try:
    stentor.configure({given})
except ValueError as error:
    print(error)"""))


class Module(unittest.TestCase):
    def test_doctor(self):
        done = python('-m', 'stentor', 'doctor')
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ('stentor      ', 'no GPU: ', 'needed       a GPU of sm_75, a driver of CUDA 12.0 and NVRTC 12.0', 'Python       ', 'NumPy'):
            self.assertIn(word, done.stdout)
        self.assertEqual(json.loads(python('-m', 'stentor', 'doctor', '--json').stdout)['needed'], {'sm': 75, 'driver': 12000, 'nvrtc': 12})

    def test_others(self):
        self.assertIn('usage', python('-m', 'stentor', '--help').stdout)
        self.assertRegex(python('-m', 'stentor', '--version').stdout, r'^stentor \d')
        for wrong in ([], ['run'], ['doctor', '--loud']):
            done = python('-m', 'stentor', *wrong)
            self.assertEqual((done.returncode, done.stdout), (2, ''))


if __name__ == '__main__':
    unittest.main()
