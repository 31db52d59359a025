#!/usr/bin/env python3
"""The rules themselves can fail: each is shown a bad sample and must name it, and a good one and must be quiet."""
import pathlib
import tempfile
import unittest

import include_rule
import source_rules

GOOD = {
    'src/base/error.h': '/* errors */\n#include "stentor.h"\n',
    'src/problem/task.c': '/* tasks */\n#include "problem/task.h"\n\n#include <math.h>\n\n#include "base/error.h"\n',
    'src/problem/task.h': '/* tasks */\n',
    'cache/key.c': '/* keys */\n#include "base/error.h"\n#include "cache/cache.h"\n',
    'cache/cache.h': '/* the cache */\n',
    'src/launch/driver.c': '/* driver */\n#include "cache/cache.h"\n',
    'include/stentor.h': '/* the manual */\n',
    'kernel_templates/device/ptx.cuh': '// words\n__device__ __forceinline__ void leave() { asm volatile("exit;"); }\n',
    'tests/emulator/shim/device/ptx.cuh': '// twins\n__device__ __forceinline__ void leave(int where) {}\n',
    'kernel_templates/march.cu': '// march: no asm("here"), no\n// #include <cuda_fp16.h>\n#include "device/ptx.cuh"\n',
    'tests/style/rule.py': '#!/usr/bin/env python3\n"""a rule"""\n',
}


class Rules(unittest.TestCase):
    def tree(self, **changes):
        """A tree of the good samples with some replaced; keys name files with __ for / and _dot_ for the dot."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        files = dict(GOOD)
        for key, text in changes.items():
            files[key.replace('_dot_', '.').replace('__', '/')] = text
        for name, text in files.items():
            path = pathlib.Path(folder.name) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding='utf-8')
        return folder.name

    def one_include(self, **changes):
        found = include_rule.violations(self.tree(**changes))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def one_source(self, **changes):
        found, _ = source_rules.violations(self.tree(**changes))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_good_samples_are_quiet(self):
        self.assertEqual(include_rule.violations(self.tree()), [])
        self.assertEqual(source_rules.violations(self.tree()), ([], []))

    def test_include_of_a_later_room(self):
        text = '/* errors */\n\n#include "problem/task.h"\n'
        self.assertIn('src/base/error.h:3: room base includes "problem/task.h" of the later room problem',
                      self.one_include(src__base__error_dot_h=text))

    def test_the_cache_is_a_room(self):
        self.assertIn('of the later room launch',
                      self.one_include(cache__key_dot_c='/* keys */\n#include "launch/driver.h"\n'))
        self.assertIn('of the later room cache',
                      self.one_include(src__problem__task_dot_c='/* t */\n#  include "../../cache/cache.h"\n'))

    def test_include_of_what_is_no_room(self):
        self.assertIn('which is in no room',
                      self.one_include(src__base__log_dot_c='/* log */\n#include "kernel_templates/march.cu"\n'))

    def test_a_room_without_a_place(self):
        self.assertIn('src/attic', self.one_include(src__attic__old_dot_c='/* old */\n'))

    def test_opening_comment(self):
        self.assertIn('src/base/log.c:1: does not open', self.one_source(src__base__log_dot_c='#include "stentor.h"\n'))
        self.assertIn('does not open', self.one_source(tests__style__rule_dot_py='#!/usr/bin/env python3\nimport os\n'))

    def test_length(self):
        self.assertIn('longer than', self.one_source(src__base__log_dot_c='/* log */\n' + 'int x;\n' * 600))
        found, warnings = source_rules.violations(self.tree(src__base__log_dot_c='/* log */\n' + 'int x;\n' * 450))
        self.assertEqual((found, warnings), ([], ['src/base/log.c: 451 lines']))

    def test_unfinished(self):
        self.assertIn('src/base/log.c:2: says', self.one_source(src__base__log_dot_c='/* log */\n/* TO' 'DO: more */\n'))

    def test_templates_have_no_system_headers(self):
        self.assertIn('march.cu:2: a template includes a system header',
                      self.one_source(kernel_templates__march_dot_cu='// march\n#include <cuda_fp16.h>\n'))

    def test_ptx_has_one_place(self):
        self.assertIn('march.cu:2: inline PTX',
                      self.one_source(kernel_templates__march_dot_cu='// march\nvoid f() { asm("exit;"); }\n'))

    def test_every_word_has_a_twin(self):
        text = '// words\n__device__ __forceinline__ unsigned long\nstay(int a) { return 1; }\n'
        self.assertIn('kernel_templates/device/ptx.cuh:2: stay has no twin',
                      self.one_source(kernel_templates__device__ptx_dot_cuh=text))


if __name__ == '__main__':
    unittest.main()
