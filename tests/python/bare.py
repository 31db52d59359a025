"""Runs the README's Python with the package that is installed, from the folder of the README: bare.py README.md. Tells how long the
import takes beside NumPy's."""
import pathlib
import re
import sys
import time

import numpy  # noqa: F401  the package's own time is told

started = time.perf_counter()
import stentor  # noqa: E402

seconds = time.perf_counter() - started
readme = pathlib.Path(sys.argv[1]).resolve()
block = re.search(r'^```python\n(.*?)^```', readme.read_text(encoding='utf-8'), re.MULTILINE | re.DOTALL).group(1)
exec(compile(block.replace("'examples/", f"'{readme.parent}/examples/"), str(readme), 'exec'), {})
print(f'stentor {stentor.__version__} of {pathlib.Path(stentor.__file__).parent}: its import took {1e3 * seconds:.0f} ms after NumPy')
