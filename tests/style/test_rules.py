#!/usr/bin/env python3
"""Tests of the style rules: each must report a bad sample and accept a good one."""
import pathlib
import tempfile
import unittest
import unittest.mock

import calls_rule
import circle_rule
import documents
import include_rule
import source_rules
import strategy_rule
import words_rule

GOOD = {
    'src/base/error.h': '/* errors */\n#include "stentor.h"\n',
    'src/problem/task.c': '/* tasks */\n#include "problem/task.h"\n\n#include <math.h>\n\n'
                          '#include "base/error.h"\n',
    'src/problem/task.h': '/* tasks */\n',
    'cache/key.c': '/* keys */\n#include "base/error.h"\n#include "cache/cache.h"\n',
    'cache/cache.h': '/* the cache */\n',
    'src/launch/driver.c': '/* driver */\n#include "cache/cache.h"\n',
    'include/stentor.h': '/* the manual */\n',
    'src/strategies/common/ping_pong.h': '/* turns */\n#include "problem/task.h"\n',
    'src/strategies/faces/margins.h': '/* margins */\n#include "strategies/common/ping_pong.h"\n',
    'src/strategies/faces/tile/tile.h': '/* tiles */\n#include "strategies/common/ping_pong.h"\n',
    'src/strategies/faces/margins.c': '/* m */\n#include "strategies/faces/margins.h"\n'
                                      '#include "strategies/faces/tile/tile.h"\n',
    'src/strategies/direct/shape.h': '/* shapes */\n#include "strategies/common/ping_pong.h"\n',
    'src/strategies/direct/shape.c': '/* shapes */\n#include "strategies/direct/shape.h"\n'
                                     '#include "strategies/faces/margins.h"\n',
    'src/strategies/direct/time.h': '/* steps */\n#include "shape.h"\n',
    'src/strategies/host.c': '/* host */\n#include "strategies/common/ping_pong.h"\n',
    'kernel_templates/device/ptx.cuh': '// words\n__device__ __forceinline__ void leave() { asm volatile("exit;"); }\n',
    'tests/emulator/shim/device/ptx.cuh': '// emulated\n__device__ __forceinline__ void leave(int where) {}\n',
    'kernel_templates/march.cu': '// march: no asm("here"), no\n// #include <cuda_fp16.h>\n'
                                 '#include "device/ptx.cuh"\n',
    'tests/style/rule.py': '#!/usr/bin/env python3\n"""a rule"""\n',
}


class Rules(unittest.TestCase):
    def tree(self, **changes):
        """A tree of the good samples, some replaced; in keys __ means / and _dot_ the dot."""
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
        found = source_rules.violations(self.tree(**changes))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def one_strategy(self, **changes):
        found = strategy_rule.violations(self.tree(**changes))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def one_circle(self, **changes):
        found = circle_rule.violations(self.tree(**changes))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_good_samples_are_quiet(self):
        self.assertEqual(include_rule.violations(self.tree()), [])
        self.assertEqual(strategy_rule.violations(self.tree()), [])
        self.assertEqual(circle_rule.violations(self.tree()), [])
        self.assertEqual(source_rules.violations(self.tree()), [])

    def test_include_of_a_later_room(self):
        text = '/* errors */\n\n#include "problem/task.h"\n'
        self.assertIn('src/base/error.h:3: component base includes "problem/task.h" of the later component problem',
                      self.one_include(src__base__error_dot_h=text))

    def test_the_cache_is_a_room(self):
        self.assertIn('of the later component launch',
                      self.one_include(cache__key_dot_c='/* keys */\n#include "launch/driver.h"\n'))
        self.assertIn('of the later component cache',
                      self.one_include(
                          src__problem__task_dot_c='/* t */\n#  include "../../cache/cache.h"\n'))

    def test_include_of_what_is_no_room(self):
        self.assertIn('which is in no component',
                      self.one_include(
                          src__base__log_dot_c='/* log */\n#include "kernel_templates/march.cu"\n'))

    def test_a_component_without_a_place(self):
        self.assertIn('src/attic', self.one_include(src__attic__old_dot_c='/* old */\n'))

    def test_a_strategy_includes_no_other(self):
        text = '/* h */\n#include "strategies/direct/shape.h"\n'
        self.assertIn('src/strategies/host.c:2: host includes "strategies/direct/shape.h" of the strategy direct',
                      self.one_strategy(src__strategies__host_dot_c=text))
        self.assertIn('of the strategy direct', self.one_strategy(src__strategies__sparse__s_dot_h=text))
        self.assertIn('of the strategy direct', self.one_strategy(src__strategies__faces__tile__strips_dot_c=text))
        self.assertIn('of the strategy direct',
                      self.one_strategy(
                          src__strategies__sparse__s_dot_h='/* s */\n'
                                                           '#include "../direct/shape.h"\n'))

    def test_what_strategies_share_has_an_order(self):
        text = '/* t */\n#include "strategies/faces/margins.h"\n'
        self.assertIn('common includes "strategies/faces/margins.h" of faces, which is built on it',
                      self.one_strategy(src__strategies__common__turns_dot_c=text))

    def test_faces_has_one_door(self):
        text = '/* t */\n#include "strategies/faces/tile/tile.h"\n'
        self.assertIn('the door of faces is margins.h', self.one_strategy(src__strategies__direct__time_dot_c=text))

    def test_circles(self):
        text = '/* shapes */\n#include "strategies/direct/time.h"\n'
        self.assertIn('src/strategies/direct/shape -> src/strategies/direct/time -> src/strategies/direct/shape',
                      self.one_circle(src__strategies__direct__shape_dot_c=text))
        self.assertIn('cache/cache -> cache/key -> cache/cache',
                      self.one_circle(cache__key_dot_h='/* k */\n#include "cache.h"\n',
                                      cache__cache_dot_c='/* c */\n#include "cache/key.h"\n'))
        self.assertIn('src/base/a -> src/base/b -> src/base/c -> src/base/a',
                      self.one_circle(src__base__a_dot_h='/* a */\n#include "base/b.h"\n',
                                      src__base__b_dot_h='/* b */\n#include "base/c.h"\n',
                                      src__base__c_dot_h='/* c */\n#include "base/a.h"\n'))

    def calls(self, *lines, **changes):
        """What calls_rule finds where nm lists these "FILE SYMBOL KIND" of the tree's objects."""
        named = [line.split() for line in lines]
        text = '\n'.join(f'lib.a[lib.a.p/{name.replace("/", "_")}.o]: {symbol} {kind}' for name, symbol, kind in named)
        return calls_rule.violations(self.tree(**changes), text)

    def test_calls_go_down(self):
        defined, needed = 'src/problem/task.c stn_task_make T', 'cache/key.c stn_task_make U'
        self.assertEqual(self.calls(defined, needed, 'src/problem/task.c malloc U'), [])
        self.assertEqual(self.calls('src/problem/task.c make t', 'cache/key.c make t'), [])
        self.assertEqual(self.calls('cache/key.c stn_key T', 'src/problem/task.c stn_key U'),
                         ['src/problem/task.c: needs stn_key of cache/key.c, of the later component cache'])

    def test_calls_in_a_circle(self):
        found = self.calls('src/team/team.c stn_a T', 'src/team/team.c stn_b U',
                           'src/team/halo_exchange.c stn_b D', 'src/team/halo_exchange.c stn_a U',
                           src__team__team_dot_c='/* t */\n', src__team__halo_exchange_dot_c='/* e */\n')
        self.assertEqual(found, ['src/team/halo_exchange.c: calls lead in a circle through src/team/team.c'])

    def test_calls_that_are_excused(self):
        plan = {'src__plan__subplan_dot_c': '/* s */\n', 'src__plan__plan_dot_c': '/* p */\n',
                'src__kinds__kinds_dot_c': '/* k */\n'}
        table = 'src/kinds/kinds.c stn_kinds D'
        self.assertEqual(self.calls(table, 'src/plan/subplan.c stn_kinds U', **plan), [])
        self.assertEqual(len(self.calls(table, 'src/plan/plan.c stn_kinds U', **plan)), 1)

    def test_global_symbols_have_a_prefix(self):
        files = {'src__strategies__fft__passes_dot_c': '/* p */\n', 'src__strategies__cufft_dot_c': '/* c */\n'}
        passes = 'src/strategies/fft/passes.c'
        self.assertEqual(self.calls(f'{passes} fft_run T', f'{passes} stn_strategy_fft R', f'{passes} run t',
                                    'src/strategies/cufft.c cufft_run T', 'src/problem/task.c problem_make T',
                                    **files), [])
        self.assertEqual(self.calls(f'{passes} run_passes T', 'src/strategies/cufft.c fft_run T',
                                    'src/problem/task.c task_make T', **files),
                         ['src/problem/task.c: defines task_make, which begins neither with stn_ nor with problem_',
                          'src/strategies/cufft.c: defines fft_run, which begins neither with stn_ nor with cufft_',
                          f'{passes}: defines run_passes, which begins neither with stn_ nor with fft_'])

    def test_a_function_is_defined_where_it_is_declared(self):
        header = '/* tasks */\nstn_status stn_task_make(const void *given,\n                         void *task);\n'
        self.assertEqual(self.calls('src/problem/task.c stn_task_make T', src__problem__task_dot_h=header), [])
        self.assertEqual(self.calls('cache/key.c stn_task_make T', src__problem__task_dot_h=header),
                         ['src/problem/task.h: declares stn_task_make, which cache/key.c defines'])

    def test_opening_comment(self):
        self.assertIn('src/base/log.c:1: does not open',
                      self.one_source(src__base__log_dot_c='#include "stentor.h"\n'))
        self.assertIn('does not open',
                      self.one_source(
                          tests__style__rule_dot_py='#!/usr/bin/env python3\nimport os\n'))

    def test_length(self):
        for lines, warned in ((999, 0), (1000, 1)):
            root = self.tree(src__base__log_dot_c='/* log */\n' + 'int x;\n' * lines)
            self.assertEqual(source_rules.violations(root), [])
            self.assertEqual(len(source_rules.warnings(root)), warned)

    def test_the_environment_is_read_securely(self):
        for name in ('src__base__log_dot_c', 'cache__key_dot_c'):
            self.assertIn(':2: calls getenv', self.one_source(**{name: '/* log */\nchar *x(void) { return getenv("A"); }\n'}))
        self.assertEqual(source_rules.violations(self.tree(src__base__log_dot_c='/* getenv( */\nchar *x(void) { return secure_getenv("A"); }\n')), [])

    def test_unfinished(self):
        self.assertIn('src/base/log.c:2: says', self.one_source(src__base__log_dot_c='/* log */\n/* TO' 'DO: more */\n'))

    def test_templates_have_no_system_headers(self):
        self.assertIn('march.cu:2: a template includes a system header',
                      self.one_source(
                          kernel_templates__march_dot_cu='// march\n#include <cuda_fp16.h>\n'))

    def test_ptx_has_one_place(self):
        self.assertIn('march.cu:2: inline PTX',
                      self.one_source(kernel_templates__march_dot_cu='// march\nvoid f() { asm("exit;"); }\n'))

    def test_the_emulator_has_every_function(self):
        text = '// words\n__device__ __forceinline__ unsigned long\nstay(int a) { return 1; }\n'
        self.assertIn('kernel_templates/device/ptx.cuh:2: stay is missing',
                      self.one_source(kernel_templates__device__ptx_dot_cuh=text))

    def words(self, **changes):
        return words_rule.violations(self.tree(**changes), ['src', 'tests'])

    def one_word(self, **changes):
        found = self.words(**changes)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_good_words_are_quiet(self):
        self.assertEqual(self.words(), [])
        long = 'x' * 120
        self.assertEqual(self.words(src__base__log_dot_c=f'/* log */\nchar *text = "{long} // {long}";\n'), [])
        text = f'"""a rule"""\ntext = "# {long} to' 'rus"\n'
        self.assertEqual(self.words(tests__style__rule_dot_py=text), [])
        self.assertEqual(self.words(src__base__log_dot_c='/* log */\nint x; /* the pr' 'ice of a tw' 'in */\n'), [])

    def test_words_need_folders(self):
        for folders in ([], ['src', 'elsewhere']):
            with self.assertRaises(ValueError):
                words_rule.violations(self.tree(), folders)

    def test_wide_comments(self):
        long = 'word ' * 21
        for name, text in (('src__base__log_dot_c', f'/* log\n * {long} */\n'),
                           ('src__base__log_dot_c', f'/* log */\nint x; // {long}\n'),
                           ('src__base__log_dot_cu', f'// log\n\n// {long}\n'),
                           ('tests__style__rule_dot_py', f'"""a rule\n{long}\n"""\n'),
                           ('tests__style__rule_dot_py', f'"""a rule"""\nx = 1  # {long}\n')):
            self.assertRegex(self.one_word(**{name: text}), r':[23]: a comment line of 1\d\d columns: at most 100')

    def test_wide_documents(self):
        wide = '# Page\n' + 'word ' * 21 + '\n| ' + 'cell ' * 21 + '|\n'
        root = pathlib.Path(self.tree(docs__page_dot_md=wide))
        others = {name: lambda root: [] for name in ('missing_documents', 'wrong_figures', 'wrong_versions', 'missing_launchers')}
        with unittest.mock.patch.multiple(documents, **others):
            self.assertEqual(documents.check(root), ['docs/page.md:2: a line of 105 columns: at most 100'])

    def test_retired_words(self):
        for name, text in (('src__base__log_dot_c', '/* log */\n/* A hur' 'ry. */\n'),
                           ('src__base__log_dot_h', '/* log */\nint max_hur' 'ry;\n'),
                           ('tests__style__rule_dot_py', '"""a rule"""\nhur' 'ry = 1\n'),
                           ('tests__style__rule_dot_py', '"""a rule"""\nx = 1  # hur' 'ry\n')):
            self.assertIn(':2: "hur' 'ry" in ', self.one_word(**{name: text}))
        self.assertIn(':3: "to' 'rus" in a comment: write "periodic domain"',
                      self.one_word(src__base__log_dot_c='/* log */\n/* one\n * to' 'rus */\n'))
        self.assertIn('"to' 'rus" in the name of the file', self.one_word(**{'src__base__to' 'rus_dot_md': 'text'}))
        self.assertEqual(self.words(tests__style__rule_dot_py=f'"""a rule"""\nx = {"y" * 90}  # type: ignore[arg-type]\n'), [])
        self.assertIn('"pr' 'ice" in pr' 'ice_of', self.one_word(src__base__log_dot_c='/* log */\nint pr' 'ice_of;\n'))


if __name__ == '__main__':
    unittest.main()
