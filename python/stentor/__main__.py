"""The commands python3 -m stentor doctor [--json] and python3 -m stentor bench [--compare] ...

doctor lists the components found on this machine and the missing ones with instructions to get
them. bench measures a problem, with Stentor and other libraries; see _compare.py.
"""

import sys

import numpy

import stentor

from ._context import Context
from ._errors import exit_code
from ._library import lib, path

USAGE = """usage: python3 -m stentor doctor [--json]   what was found on this machine, what is missing, how to get it
       python3 -m stentor bench --compare ...   a problem of yours beside scipy, cupyx, torch, cv2 (bench --help)
       python3 -m stentor --version         the version"""


def main(arguments: list) -> int:
    if arguments in (['--help'], ['-h'], ['help']):
        print(USAGE)
    elif arguments == ['--version']:
        print(f'stentor {stentor.__version__}')
    elif arguments[:1] == ['doctor'] and arguments[1:] in ([], ['--json']):
        found = Context(None).describe(lib.STN_JSON if arguments[1:] else lib.STN_TEXT)
        print(found, end='' if found.endswith('\n') else '\n')
        if not arguments[1:]:
            print(f'Python       {sys.version.split()[0]}, NumPy {numpy.__version__}; the library is {path}')
    elif arguments[:1] == ['bench']:
        from ._compare import bench
        return bench(arguments[1:])
    else:
        print(USAGE, file=sys.stderr)
        return 2
    return 0


def run(arguments: list) -> int:
    """Runs `main`; prints its exception, and returns the exit code of the command `stentor`."""
    try:
        return main(arguments)
    except Exception as error:
        print(f'stentor: {error}', file=sys.stderr)
        return exit_code(error)


if __name__ == '__main__':
    sys.exit(run(sys.argv[1:]))
