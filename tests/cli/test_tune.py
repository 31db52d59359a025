#!/usr/bin/env python3
"""Measuring candidates, the report page, and wisdom files. On the emulated GPU, whose times mean
nothing: only how they are handled is tested."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as xml

from command import BINARY, CommandTest

PROBLEM = ('--size', '67', '--stencil', 'heat-1d:alpha=0.2', '--steps', '2', '--boundary', 'fixed')
SVG = '{http://www.w3.org/2000/svg}'


def sealed(text):
    return text + 'sha256 ' + hashlib.sha256(text.encode()).hexdigest() + '\n'


class Tune(CommandTest):
    def tune(self, folder, *more):
        done = self.succeed('tune', *PROBLEM, '--strategy', 'direct', '--json', '--cache-dir', folder, *more)
        return json.loads(done.stdout)

    def explain(self, folder, *more):
        return json.loads(self.succeed('explain', *PROBLEM, '--strategy', 'direct', '--json', '--cache-dir', folder, *more).stdout)

    def export(self, folder):
        return self.succeed('wisdom', 'export', '--cache-dir', folder).stdout

    def test_the_page(self):
        told = self.tune('a', '--html', 'page.html', '--mode', 'patient')
        measured = [row for row in told['ranking'] if row['measured_seconds']]
        self.assertEqual(len(measured), len([row for row in told['ranking'] if 'does_not_apply' not in row]), 'patient measures all')
        page = (self.path / 'page.html').read_text(encoding='ascii')
        root = xml.fromstring(page.split('\n', 1)[1])  # well-formed
        pictures = list(root.iter(SVG + 'svg'))
        self.assertEqual(len(pictures), 3)
        self.assertEqual(len(list(pictures[0].iter(SVG + 'rect'))), len(measured))
        for picture in pictures[1:]:
            self.assertEqual(len(list(picture.iter(SVG + 'circle'))), len(measured))
        self.assertEqual(len([node for node in root.iter() if node.tag.endswith('}tr')]), 1 + len(told['ranking']))
        without_names = re.sub(r'xmlns="[^"]*"', '', page)
        for outside in ('http', '<script', 'src=', 'href=', '@import', 'url('):
            self.assertNotIn(outside, without_names)
        for number in re.findall(r'\b(?:cx|cy|x|y|width|height)="([^"]*)"', page):
            self.assertTrue(0 <= float(number) <= 720, number)
        browser = next(filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))), None)
        if browser:
            dom = subprocess.run([browser, '--headless', '--no-sandbox', '--disable-gpu', '--dump-dom', str(self.path / 'page.html')],
                                 capture_output=True, text=True, timeout=60, check=True).stdout
            self.assertEqual(dom.count('<svg'), 3)
            self.assertIn('Roofline', dom)

    def test_wisdom_travels(self):
        self.refuse(8, 'wisdom has no times', 'explain', *PROBLEM, '--mode', 'wisdom-only', '--cache-dir', 'b')
        told = self.tune('a', '--time-limit', '1e-9')
        self.assertEqual(told['chosen'], 'measured')
        text = self.export('a')
        self.assertEqual(self.export('a'), text)
        self.put('wisdom', text)
        done = self.succeed('wisdom', 'import', 'wisdom', '--cache-dir', 'b')
        self.assertIn('1 entries taken', done.stdout)
        self.assertIn('0 were known', done.stdout)
        self.assertEqual(self.export('b'), text)
        known = self.explain('b', '--mode', 'wisdom-only')
        self.assertEqual(known['chosen'], 'measured, remembered')
        self.assertEqual(known['measured_seconds'], told['measured_seconds'])
        self.assertEqual(known['candidate'], told['candidate'])
        self.assertEqual(self.explain('b', '--deterministic')['chosen'], 'estimated')
        self.assertIn('1 were known', self.succeed('wisdom', 'import', 'wisdom', '--cache-dir', 'b').stdout)
        listed = self.succeed('wisdom', 'list', '--cache-dir', 'b').stdout.splitlines()
        self.assertEqual(len(listed), 1)
        self.assertIn('1 candidates, Emulated H200', listed[0])
        entry, = json.loads(self.succeed('wisdom', 'list', '--json', '--cache-dir', 'b').stdout)
        self.assertTrue(entry['key'].startswith(listed[0].split()[0]) and entry['candidates'] == 1)
        self.assertIn(entry['measured'], text)
        for words in ('export',), ('import', 'wisdom'), ('merge', 'wisdom', 'wisdom'), ('forget', entry['key']):
            self.refuse(2, 'leave --json out', 'wisdom', *words, '--json', '--cache-dir', 'b')
        self.refuse(2, 'forget needs a KEY', 'wisdom', 'forget', '--cache-dir', 'b')
        self.assertEqual(self.explain('b', '--cold')['chosen'], 'estimated', 'those were measured with a warm cache')
        self.refuse(2, 'no key begins with ffffffffffff', 'wisdom', 'forget', 'f' * 12, '--cache-dir', 'b')
        self.refuse(2, 'is no key', 'wisdom', 'forget', 'f', '--cache-dir', 'b')
        self.succeed('wisdom', 'forget', entry['key'][:12], '--cache-dir', 'b')
        self.assertEqual(self.explain('b')['chosen'], 'estimated')
        self.assertEqual(self.succeed('wisdom', 'list', '--cache-dir', 'b').stdout, '')
        self.succeed('wisdom', 'import', 'wisdom', '--cache-dir', 'b')
        self.succeed('wisdom', 'forget', '--all', '--cache-dir', 'b')
        self.refuse(8, 'wisdom has no times', 'explain', *PROBLEM, '--mode', 'wisdom-only', '--cache-dir', 'b')

    def list_of(self, name, *problems):
        self.put(name, json.dumps(problems))

    def test_a_list_in_one_process(self):
        self.list_of('l.json', {'stencil': 'heat-1d:alpha=0.2', 'size': ['67', '96'], 'steps': [1, 2], 'boundary': 'fixed'},
                     {'transform': 'forward', 'size': '4x64', 'axes': '-1', 'dtype': 'f32'}, {'stencil': 'no-such', 'size': '5'})
        common = ('tune', '--problems', 'l.json', '--time-limit', '1e-9', '--cache-dir', 'a')
        told = [json.loads(line) for line in self.succeed(*common, '--json').stdout.splitlines()]
        self.assertEqual(len(told), 6)
        self.assertEqual([one['label'] for one in told if 'error' in one], ['no-such, 5'])
        self.assertEqual(sum(one.get('chosen') == 'measured' for one in told), 5)
        done = self.succeed(*common).stdout.splitlines()
        self.assertEqual(done[-1], '5 problems measured, 1 not, 0 left for want of time')
        self.assertTrue(any(line.startswith('no-such, 5: ') for line in done))
        self.assertIn('6 left for want of time', self.succeed(*common, '--limit', '1e-9').stdout)
        self.refuse(2, '--limit', *common, '--limit', 'soon')
        self.refuse(2, '--within', *common, '--within', '0')
        self.refuse(2, 'leave one out', *common, '--size', '5')

    def test_a_list_twice_and_within(self):
        """The second measurement ignores the first; --within leaves out slow candidates except each
        strategy's best."""
        self.list_of('l.json', {'stencil': 'heat-1d:alpha=0.2', 'size': '4096', 'steps': [1, 40], 'boundary': 'wrap'})
        common = ('tune', '--problems', 'l.json', '--mode', 'patient', '--cache-dir', 'a', '--json')
        told = [json.loads(line) for line in self.succeed(*common, '--again', '--within', '1.5').stdout.splitlines()]
        self.assertEqual([one['again'] for one in told], [False, True, False, True])
        for first, second in zip(told[::2], told[1::2]):
            self.assertEqual(first['label'], second['label'])
            self.assertEqual(first['estimated'], second['estimated'])
            self.assertIn(first['estimated'], [[row['strategy'], row['candidate']] for row in first['ranking']])
            self.assertTrue(first['measuring_seconds'] > 0 and first['waited_seconds'] >= 0)
            taken = [row for row in first['ranking'] if row['measured_seconds']]
            best = min(row['seconds'] for row in first['ranking'] if 'seconds' in row)
            slow = [row['strategy'] for row in taken if row['seconds'] > 1.5 * best]
            self.assertEqual(len(slow), len(set(slow)))
            self.assertNotEqual([row['measured_seconds'] for row in taken], [row['measured_seconds'] for row in second['ranking']
                                                                             if row['measured_seconds']])
        rows = [row for row in told[2]['ranking'] if 'seconds' in row]
        best = min(row['seconds'] for row in rows)
        self.assertTrue(any(row['seconds'] > 1.5 * best and not row['measured_seconds'] for row in rows), 'some are left out')

    def test_times_with_a_cold_cache_are_apart(self):
        self.assertEqual(self.tune('a', '--time-limit', '1e-9', '--cold')['chosen'], 'measured')
        self.assertEqual(self.explain('a', '--cold')['chosen'], 'measured, remembered')
        self.assertEqual(self.explain('a')['chosen'], 'estimated')

    def test_wisdom_that_is_none_is_refused(self):
        self.tune('a', '--time-limit', '1e-9')
        good = self.export('a')
        body = good[:good.rindex('sha256 ')]
        key = 'f' * 64
        cases = [('', 'no wisdom'), ('\x7fELF', 'no wisdom'), (good[:-1], 'cut short'), (good[:100], 'cut short'),
                 (good.replace('candidate: direct ', 'candidate: direct 1'), 'checksum'), (good.replace('wisdom 3', 'wisdom 1'), 'another format'),
                 (sealed('stentor wisdom 1\nlibrary: stentor 0.1.0, templates 00\n'), 'another format'), (good + '\n', 'cut short'),
                 (sealed(body + 'entry: 12\nproblem: q\n'), 'no line of an entry')]
        for text, why in cases:
            self.put('bad', text)
            self.refuse(10, why, 'wisdom', 'import', 'bad', '--cache-dir', 'b')
        self.assertEqual(self.succeed('wisdom', 'list', '--cache-dir', 'b').stdout, '')
        self.put('odd', sealed(body + f'entry: {key} {key}\nproblem: p\ndevice: d\ncandidate: direct soon 1\n'))
        done = self.succeed('wisdom', 'import', 'odd', '--cache-dir', 'b')
        self.assertIn('2 entries taken', done.stdout)
        self.assertIn('candidate: direct soon 1\n', self.export('b'), 'what is not understood is kept')
        self.put('good', good)
        self.assertIn('candidate: direct soon 1\n', self.succeed('wisdom', 'merge', 'good', 'odd').stdout)
        self.refuse(9, 'cannot be opened', 'wisdom', 'import', 'nowhere', '--cache-dir', 'b')
        self.refuse(2, "no 'wisdom", 'wisdom', 'learn', '--cache-dir', 'b')
        self.refuse(9, 'no cache folder', 'wisdom', 'export', '--cache-dir', ':memory:')

    def test_the_first_time_stays(self):
        self.tune('a', '--time-limit', '1e-9')
        good = self.export('a')
        body = good[:good.rindex('sha256 ')]
        other = sealed(re.sub('^(candidate: \\S+) \\S+', r'\1 123', body, flags=re.MULTILINE))
        self.put('good', good), self.put('other', other)
        self.assertEqual(self.succeed('wisdom', 'merge', 'good', 'other').stdout, good)
        self.assertEqual(self.succeed('wisdom', 'merge', 'other', 'good').stdout, other)
        self.succeed('wisdom', 'import', 'other', '--cache-dir', 'a')
        self.assertEqual(self.export('a'), good)

    def test_what_cannot_be_read_or_written_is_told(self):
        """A failed export keeps an earlier one; a failed import changes nothing."""
        self.tune('a', '--time-limit', '1e-9')
        good = self.export('a')
        self.put('out', good), self.put('good', good)
        folder, file = self.path / 'a', self.path / 'a' / 'wisdom'
        file.rename(self.path / 'kept')
        file.mkdir()
        self.refuse(10, 'not a plain file', 'wisdom', 'export', '--out', 'out', '--quiet', '--cache-dir', 'a')
        self.assertEqual((self.path / 'out').read_text(encoding='ascii'), good)
        file.rmdir()
        (self.path / 'blocked').write_text('no folder', encoding='ascii')
        self.refuse(9, 'no cache folder', 'wisdom', 'export', '--out', 'out', '--quiet', '--cache-dir', 'blocked')
        self.refuse(9, 'no cache folder', 'wisdom', 'import', 'good', '--quiet', '--cache-dir', 'blocked')
        self.assertEqual((self.path / 'out').read_text(encoding='ascii'), good)
        if os.geteuid():
            folder.chmod(0o500)
            self.refuse(9, 'cannot be written', 'wisdom', 'import', 'good', '--cache-dir', 'a')
            folder.chmod(0)
            self.refuse(9, 'folder', 'wisdom', 'export', '--out', 'out', '--quiet', '--cache-dir', 'a')
            folder.chmod(0o700)
            self.assertEqual((self.path / 'out').read_text(encoding='ascii'), good)

    def test_writers_at_once_lose_nothing(self):
        """Each imports another candidate of one problem; all are kept, by import and by merge."""
        self.tune('a', '--time-limit', '1e-9')
        good = self.export('a')
        body = good[:good.rindex('sha256 ')]
        line = re.search('^candidate: .*$', body, re.MULTILINE).group()
        texts = []
        for i in range(8):
            texts.append(sealed(body.replace(line, re.sub(r' \S+$', f' {100 + i}', line))))
            self.put(f'w{i}', texts[-1])
        env = dict(os.environ, STENTOR_CACHE_DIR=str(self.path / 'b'))
        running = [subprocess.Popen([BINARY, 'wisdom', 'import', f'w{i}', '--quiet'], cwd=self.path, env=env) for i in range(8)]
        self.assertEqual([one.wait(60) for one in running], [0] * 8)
        lines = set(re.findall('^candidate: .*$', self.export('b'), re.MULTILINE))
        self.assertEqual(len(lines), 8)
        merged = texts[0]
        for i in range(1, 8):
            self.put('merged', merged)
            merged = self.succeed('wisdom', 'merge', 'merged', f'w{i}').stdout
        self.assertEqual(set(re.findall('^candidate: .*$', merged, re.MULTILINE)), lines)


if __name__ == '__main__':
    unittest.main()
