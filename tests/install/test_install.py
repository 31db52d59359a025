#!/usr/bin/env python3
"""An installed library is found by pkg-config and CMake; the manual page is complete.

Usage: test_install.py BUILD CONSUMER MAN_PAGE. STENTOR_COMMAND names the command, if it is built.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, CONSUMER, PAGE = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))


def run(*command, **given):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **given)
    if done.returncode:
        raise AssertionError(f'{shlex.join(map(str, command))} exited with {done.returncode}:\n{done.stdout}{done.stderr}')
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.room = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.room.name, 'root')
        run('meson', 'install', '-C', BUILD, '--no-rebuild', '--destdir', cls.root)
        prefix = [path.parent.parent for path in cls.root.rglob('include/stentor.h')]
        assert len(prefix) == 1, prefix
        cls.prefix = prefix[0]

    @classmethod
    def tearDownClass(cls):
        cls.room.cleanup()

    def says_what_it_found(self, program):
        folder = next(self.prefix.rglob('libstentor.so')).parent
        said = run(program, env=dict(os.environ, LD_LIBRARY_PATH=str(folder)))
        self.assertRegex(said, r'^stentor \d+\.\d+\.\d+, 5 taps$')

    @unittest.skipUnless(shutil.which('cmake'), 'cmake is not installed')
    def test_cmake(self):
        build = pathlib.Path(self.room.name, 'cmake')
        run('cmake', '-S', CONSUMER, '-B', build, f'-Dstentor_ROOT={self.prefix}', f'-DCMAKE_PREFIX_PATH={self.prefix}')
        run('cmake', '--build', build)
        self.says_what_it_found(build / 'consumer')

    @unittest.skipUnless(shutil.which('cmake'), 'cmake is not installed')
    def test_cmake_asks_for_another_version(self):
        script = pathlib.Path(self.room.name, 'other')
        script.mkdir()
        text = (CONSUMER / 'CMakeLists.txt').read_text(encoding='utf-8')
        self.assertIn('stentor 0.2 ', text)
        (script / 'CMakeLists.txt').write_text(text.replace('stentor 0.2 ', 'stentor 7.2 '), encoding='utf-8')
        shutil.copy(CONSUMER / 'main.c', script)
        with self.assertRaisesRegex(AssertionError, 'compatible'):
            run('cmake', '-S', script, '-B', script / 'build', f'-DCMAKE_PREFIX_PATH={self.prefix}')

    @unittest.skipUnless(shutil.which('pkg-config'), 'pkg-config is not installed')
    def test_pkg_config(self):
        folder = next(self.prefix.rglob('stentor.pc')).parent
        env = dict(os.environ, PKG_CONFIG_PATH=str(folder))
        flags = run('pkg-config', f'--define-variable=prefix={self.prefix}', '--cflags', '--libs', 'stentor', env=env)
        program = pathlib.Path(self.room.name, 'consumer')
        run(*shlex.split(os.environ.get('CC', 'cc')), CONSUMER / 'main.c', '-o', program, *shlex.split(flags))
        self.says_what_it_found(program)

    def test_the_soname_is_of_the_minor_version(self):
        """Before 1.0 a minor version may change the interface, as CMake's version file says too."""
        library = next(self.prefix.rglob('libstentor.so')).resolve()
        version = re.search(r'libstentor\.so\.(\d+)\.(\d+)\.\d+$', library.name)
        soname = f'libstentor.so.{version[1]}.{version[2]}'
        self.assertIn(soname.encode() + b'\0', library.read_bytes())
        self.assertEqual((library.parent / soname).resolve(), library)
        self.assertFalse((library.parent / f'libstentor.so.{version[1]}').exists())

    def test_what_else_is_installed(self):
        names = [path.name for path in self.prefix.rglob('share/doc/stentor/*')]
        self.assertEqual(sorted(names), ['LICENSE', 'README.md'])
        self.assertEqual(list(self.prefix.rglob('bin/stentor-bench')), [])

    @unittest.skipUnless(shutil.which('c++'), 'there is no C++ compiler')
    def test_the_header_in_cpp(self):
        """Every initialiser compiles with all warnings, also if the header is included as C."""
        header = next(self.prefix.rglob('include/stentor.h'))
        made = re.findall(r'^#define (STN_\w+_INIT) STN_INIT_OF\((\w+)\)',
                          header.read_text(encoding='utf-8'), re.MULTILINE)
        self.assertGreater(len(made), 5)
        body = ''.join(f'static bool f{i}() {{ {kind} x = {macro}; {kind} y = {kind}(); x = {macro}; '
                       f'return x.struct_size == sizeof x && y.struct_size == 0; }}\n' for i, (macro, kind) in enumerate(made))
        body += 'int main() { return !(' + ' && '.join(f'f{i}()' for i in range(len(made))) + '); }\n'
        for include in ('#include <stentor.h>\n', 'extern "C" {\n#include <stentor.h>\n}\n'):
            for standard in ('c++98', 'c++17'):
                program = pathlib.Path(self.room.name, 'header')
                run('c++', f'-std={standard}', '-Wall', '-Wextra', '-Wmissing-field-initializers', '-Werror', '-x', 'c++', '-I', header.parent,
                    '-', '-o', program, input=include + body)
                run(program)

    @unittest.skipUnless('STENTOR_COMMAND' in os.environ, 'the command is not built')
    def test_the_page_is_installed(self):
        self.assertEqual(len(list(self.prefix.rglob('man/man1/stentor.1*'))), 1)


class Page(unittest.TestCase):
    @unittest.skipUnless(shutil.which('groff'), 'groff is not installed')
    def test_form(self):
        done = subprocess.run(['groff', '-ww', '-man', '-Tascii', '-z', PAGE], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, '')

    @unittest.skipUnless('STENTOR_COMMAND' in os.environ, 'the command is not built')
    def test_it_says_what_the_command_says(self):
        told = run(os.environ['STENTOR_COMMAND'], '--help')
        page = PAGE.read_text(encoding='utf-8').replace('\\-', '-')
        blocks = re.findall(r'^\.TP\n\.B (\S+)\n(.+)$', page, re.MULTILINE)
        self.assertEqual([b for b in blocks if not b[0].isdigit()], re.findall(r'^  ([a-z]+) {2,}(\w.*)$', told, re.MULTILINE))
        self.assertEqual([b for b in blocks if b[0].isdigit()], re.findall(r'^ +(\d+)  (.+)$', told, re.MULTILINE))
        version = run(os.environ['STENTOR_COMMAND'], '--version').split()[1]
        self.assertIn(f'"Stentor {version}"', page)


if __name__ == '__main__':
    unittest.main()
