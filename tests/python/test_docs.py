"""The examples in docstrings, README and user guide run, and every public name has an example."""
import contextlib
import doctest
import importlib
import inspect
import io
import pathlib
import pkgutil
import re
import unittest

import stentor


class Docs(unittest.TestCase):
    def test_examples(self):
        names = ['stentor'] + ['stentor.' + each.name for each in pkgutil.iter_modules(stentor.__path__)]
        tried = 0
        for name in names:
            # These modules need PyTorch.
            if name in ('stentor._adjoint', 'stentor._eager', 'stentor._place', 'stentor._spectral', 'stentor.torch'):
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
