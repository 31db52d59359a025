"""Runs the Python example of the README with the installed package: bare.py README.md.

Prints the time that the package's import takes after NumPy's.
"""
import pathlib
import re
import sys
import time

import numpy  # noqa: F401  imported first, so that only the package's own time is measured

started = time.perf_counter()
import stentor  # noqa: E402

seconds = time.perf_counter() - started
readme = pathlib.Path(sys.argv[1]).resolve()
block = re.search(r'^```python\n(.*?)^```', readme.read_text(encoding='utf-8'), re.MULTILINE | re.DOTALL).group(1)
exec(compile(block.replace("'examples/", f"'{readme.parent}/examples/"), str(readme), 'exec'), {})
print(f'stentor {stentor.__version__} of {pathlib.Path(stentor.__file__).parent}: its import took {1e3 * seconds:.0f} ms after NumPy')
