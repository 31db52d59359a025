#!/usr/bin/env python3
"""Symbols that the built libraries export, and their mutable global state.

Usage: test_symbols.py LIBRARY.so LIBRARY.a HEADER INTERNAL.a"""
import re
import subprocess
import sys
import unittest

SHARED, STATIC, HEADER, INTERNAL = (sys.argv.pop(1) for _ in range(4))


def read(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def defined(*options):
    """The global symbols that a file defines."""
    lines = read('nm', '--defined-only', '--extern-only', '--format=posix', *options).splitlines()
    return {fields[0] for fields in map(str.split, lines) if len(fields) > 2}


with open(HEADER, encoding='utf-8') as header:
    DECLARED = set(re.findall(r'^STN_API [^;(]*?(stn_\w+)\(', header.read(), re.MULTILINE))


class Symbols(unittest.TestCase):
    def test_the_header_declares_what_this_reads(self):
        self.assertLessEqual({'stn_version', 'stn_stencil_taps', 'stn_plan_create', 'stn_wisdom_merge'}, DECLARED)

    def test_the_shared_library_exports_what_the_header_declares(self):
        versions = defined('--dynamic', SHARED)
        soname = re.search(r'libstentor\.so\.(\S+)\]', read('readelf', '--dynamic', '--wide', SHARED)).group(1)
        self.assertEqual(versions - {f'STENTOR_{soname}'}, {f'{name}@@STENTOR_{soname}' for name in DECLARED})

    def test_the_static_library_defines_what_the_header_declares(self):
        self.assertEqual(defined(STATIC), DECLARED)


# MPI is initialised and finalised once in a process, so whether it is to be finalised at exit is a
# variable of the process.
OF_THE_PROCESS = ['src_team_mpi']


class State(unittest.TestCase):
    """No mutable variables: constants are in .rodata or, with pointers, in .data.rel.ro."""

    def test_no_object_has_variables(self):
        found, where = [], ''
        for line in read('readelf', '--section-headers', '--wide', INTERNAL).splitlines():
            if line.startswith('File: '):
                where = re.sub(r'.*/|\.c\.o\)?\]?$', '', line)
            fields = re.match(r'\s*\[ *\d+\] (\.(?:data|bss|tdata|tbss)(?:\.(?!rel\.ro)\S*)?)\s+\S+\s+\S+ \S+ (\S+)', line)
            if fields and int(fields.group(2), 16) and where not in OF_THE_PROCESS:
                found.append((where, fields.group(1)))
        self.assertEqual(found, [])


if __name__ == '__main__':
    unittest.main()
