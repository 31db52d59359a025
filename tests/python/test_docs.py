"""The examples in docstrings, README and user guide run, and every public name has an example."""
import contextlib
import doctest
import importlib
import inspect
import io
import pathlib
import pkgutil
import re
import runpy
import tempfile
import unittest

import stentor


class Docs(unittest.TestCase):
    def test_examples(self):
        names = ['stentor'] + ['stentor.' + each.name for each in pkgutil.iter_modules(stentor.__path__)]
        tried = 0
        for name in names:
            # These modules need PyTorch.
            if name in ('stentor._adjoint', 'stentor._eager', 'stentor._place', 'stentor._spectral', 'stentor._spectral_composed', 'stentor.torch'):
                continue
            with self.subTest(name):
                result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
                self.assertEqual(result.failed, 0)
                tried += result.attempted
        self.assertGreater(tried, 28)

    def test_the_readme(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        block = re.search(r'^```python\n(.*?)^```', (root / 'README.md').read_text(encoding='utf-8'), re.MULTILINE | re.DOTALL)
        text = block.group(1).replace("'examples/", f"'{root}/examples/")
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(text, 'README.md', 'exec'), {})
        self.assertIn('host', said.getvalue())

    def test_the_user_guide(self):
        """The guide's code blocks form one program."""
        text = (pathlib.Path(__file__).resolve().parents[2] / 'docs/guide.md').read_text(encoding='utf-8')
        blocks = re.findall(r'^```python\n(.*?)^```', text, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 7)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile('\n'.join(blocks), 'guide.md', 'exec'), {})
        self.assertIn('strategy', said.getvalue())

    def test_the_page_of_pictures(self):
        """The page and its pictures are those that its script makes; it names every function."""
        folder = pathlib.Path(__file__).resolve().parents[2] / 'docs/functions'
        make = runpy.run_path(str(folder / 'make.py'))
        page = (folder / 'README.md').read_text(encoding='utf-8')
        with tempfile.TemporaryDirectory() as made:
            make['main'](pathlib.Path(made))
            pictures = {path.name: path for path in pathlib.Path(made).glob('*.png')}
            self.assertEqual(pictures.keys(), {path.name for path in folder.glob('*.png')})
            self.assertLess(sum(path.stat().st_size for path in pictures.values()), 300e3)
            self.assertEqual(page, (pathlib.Path(made) / 'README.md').read_text(encoding='utf-8'))
        calls = [name for name in stentor.__all__ if inspect.isfunction(getattr(stentor, name)) and name not in ('clear_cache', 'configure', 'install_as', 'on_devices', 'to_device')]
        calls += ['fftconvolve', 'oaconvolve'] + [name for name in stentor.fft.__all__ if name[-3:] in ('fft', 'ctn', 'stn')]
        for name in calls:
            self.assertIn(f'`{name}`', page)

    def test_every_public_name_has_an_example(self):
        public = [getattr(stentor, name) for name in stentor.__all__ if name not in ('fft', 'scipy_backend', 'signal')]
        public += [getattr(each, name) for each in (stentor.fft, stentor.signal) for name in each.__all__]
        for each in public:
            with self.subTest(each.__name__):
                text = inspect.getdoc(each)
                self.assertIn('>>>', text)
                if inspect.isfunction(each) and inspect.signature(each).parameters:
                    self.assertIn('Parameters\n----------', text)
                    self.assertIn('Returns\n-------', text)


if __name__ == '__main__':
    unittest.main()
