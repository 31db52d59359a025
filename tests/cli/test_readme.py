#!/usr/bin/env python3
"""Checks of README.md and of the command's page: exit codes, commands and environment variables
match the code, links lead somewhere.

Usage: test_readme.py ROOT
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from command import BINARY

ROOT = pathlib.Path(sys.argv.pop(1))
PAGES = [ROOT / 'README.md', ROOT / 'src/cli/README.md']
TEXT = PAGES[1].read_text(encoding='utf-8')


class Readme(unittest.TestCase):
    def test_exit_codes(self):
        text = subprocess.run([BINARY, '--help'], capture_output=True, text=True, check=True).stdout
        told = re.findall(r'^ +(\d+)  (.+)$', text, re.MULTILINE)
        self.assertGreater(len(told), 5)
        self.assertEqual(re.findall(r'^\| (\d+) \| (.+) \|$', TEXT, re.MULTILINE), told)

    def test_commands(self):
        text = subprocess.run([BINARY, '--help'], capture_output=True, text=True, check=True).stdout
        commands = re.findall(r'^  (\w+) {2,}\w', text.split('\n\n')[2], re.MULTILINE)
        self.assertIn('run', commands)
        for command in commands:
            self.assertIn(f'| `stentor {command}', TEXT)

    def test_the_program_in_c_runs(self):
        """The C program compiles and runs as printed, with the variables that it assumes."""
        program = re.search(r'```c\n(.*?)```', PAGES[0].read_text(encoding='utf-8'), re.DOTALL).group(1)
        source = ('#include <stentor.h>\n#include <math.h>\n#include <stdlib.h>\n'
                  'int main(void) {\nstn_error err = {0};\n'
                  'size_t ny = 30, nx = 40, i;\ndouble *grid = calloc(1200, 8), *result = calloc(1200, 8), sum = 0;\n'
                  f'grid[600] = 1200;\n{program}\nfor (i = 0; i < 1200; i++) sum += result[i];\n'
                  'return err.status || fabs(sum - 1200) > 1e-9 || !(result[0] > 0.5);\n}\n')
        library = pathlib.Path(os.environ['STENTOR_SHARED'])
        # A sanitized library needs the sanitizer's runtime in the program that loads it.
        sanitize = os.environ.get('SANITIZE', 'none')
        flags = [] if sanitize == 'none' else [f'-fsanitize={sanitize}']
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder, 'a.out')
            subprocess.run([os.environ.get('CC', 'cc'), '-x', 'c', '-Wall', '-Werror', *flags, '-I', ROOT / 'include', '-', '-x', 'none', library,
                            f'-Wl,-rpath,{library.parent}', '-lm', '-o', made], input=source, text=True, check=True)
            # The program frees nothing, so leaks are not checked.
            env = dict(os.environ, ASAN_OPTIONS='detect_leaks=0')
            self.assertEqual(subprocess.run([made], check=False, env=env).returncode, 0)

    def test_every_variable_of_the_environment_is_in_the_table(self):
        """Sources and the page name the same variables."""
        named, pages = set(), TEXT + (ROOT / 'tests/emulator/README.md').read_text(encoding='utf-8')
        for folder in ('src', 'cache', 'python', 'include', 'bench', 'tests', 'examples', 'install'):
            for path in (ROOT / folder).rglob('*'):
                if path.suffix in ('.c', '.h', '.cpp', '.py', '.sh', '.build') and 'fake_' not in path.name and path.name != 'test_readme.py':
                    named |= set(re.findall(r'\bSTENTOR_[A-Z_]+\b', path.read_text(encoding='utf-8')))
        # Include guards, and variables of the tests' interposer and recorder.
        named -= {name for name in named if name.endswith('_H') or name.startswith(('STENTOR_FAULT_', 'STENTOR_RECORD_'))}
        told = set(re.findall(r'STENTOR_[A-Z_]+', pages))
        for row in re.findall(r'`STENTOR_EMULATOR_\w+`.*', pages):  # further suffixes of a row
            told |= {'STENTOR_EMULATOR' + end for end in re.findall(r'`(_[A-Z_]+)`', row)}
        internal = {'STENTOR_EMULATOR', 'STENTOR_EMULATOR_SHIM'}  # macros of the emulator's build
        self.assertGreater(len(named), 20)
        self.assertEqual(named - told - internal, set())
        self.assertEqual({name for name in set(re.findall(r'STENTOR_[A-Z_]+', TEXT)) if not name.endswith('_')} - named, set())

    def test_the_page_for_the_index(self):
        """The page has no relative links; files that pyproject.toml names exist."""
        project = (ROOT / 'pyproject.toml').read_text(encoding='utf-8')
        page = re.search(r"^readme = '(.+)'$", project, re.MULTILINE).group(1)
        text = (ROOT / page).read_text(encoding='utf-8')
        self.assertEqual([link for link in re.findall(r'\]\(([^)]+)\)', text) if not link.startswith('https://')], [])
        for name in re.findall(r"'([^']+)'", re.search(r'^license-files = \[(.+)\]$', project, re.MULTILINE).group(1)):
            self.assertTrue((ROOT / name).is_file(), name)

    def test_links(self):
        links = 0
        for page in PAGES:
            prose = re.sub(r'^    .*$|```[^`]*```', '', page.read_text(encoding='utf-8'), flags=re.MULTILINE)
            for link in re.findall(r'\]\(([^)#:]+)\)', prose):
                links += 1
                self.assertTrue((page.parent / link).exists(), f'{page}: {link}')
        self.assertGreater(links, 5)


if __name__ == '__main__':
    unittest.main()
