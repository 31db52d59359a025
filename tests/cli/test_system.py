#!/usr/bin/env python3
"""stentor run --system: files in and out, errors, growth."""
import json
import unittest

from command import CommandTest, npy_values

WAVE = '''field u(2)
coefficient c2, k = 0
stencil lap = laplace-1d
boundary u = odd-reflect
u.next = 2*u - u.prev + c2*lap(u) + k  # a comment
'''
START = [0., 0., 1., 0., 0., 0.]
STATES = [[0, 1, -1, 1, 0, 0], [1, -1, 1, -1, 1, 0], [-2, 1, -1, 1, -1, 1]]  # by hand, c2 = 1


def by_hand(u, before, c2, steps):
    """The same system with lists."""
    for _ in range(steps):
        past = [-u[0], *u, -u[-1]]
        u, before = [2 * a - b + c * (past[i] - 2 * a + past[i + 2]) for i, (a, b, c) in enumerate(zip(u, before, c2))], u
    return u, before


class System(CommandTest):
    def setUp(self):
        super().setUp()
        self.put('wave.stn', WAVE)
        self.put_npy('u.npy', [6], START)
        self.given = ['run', '--system', 'wave.stn', '--field', 'u=u.npy', '--device', 'host']

    def test_a_run_goes_on_from_what_was_kept(self):
        self.assertEqual(by_hand(START, START, [1] * 6, 2)[0], STATES[1])
        self.put_npy('c.npy', [6], [1, .5, .25, 1, 1, 1])
        c2 = [1, .5, .25, 1, 1, 1]
        self.succeed(*self.given, '--coefficient', 'c2=c.npy', '--steps', 3, '--out', 'a.npy', '--keep', 'u.prev=b.npy', '--quiet')
        now, before = by_hand(START, START, c2, 3)
        self.assertEqual(npy_values(self.path / 'a.npy'), ((6,), '<f8', now))
        self.assertEqual(npy_values(self.path / 'b.npy'), ((6,), '<f8', before))
        self.succeed('run', '--system', 'wave.stn', '--field', 'u=a.npy', '--field', 'u.prev=b.npy', '--coefficient', 'c2=c.npy', '--steps', 4,
                     '--out', 'c4.npy', '--device', 'host')
        self.assertEqual(npy_values(self.path / 'c4.npy')[2], by_hand(START, START, c2, 7)[0])

    def test_stacks_batches_types_and_json(self):
        self.put_npy('two.npy', [2, 6], START + [0.] * 6, descr='<f4')
        done = self.succeed('run', '--system', 'wave.stn', '--field', 'u=two.npy', '--coefficient', 'c2=1', '--steps', 4, '--every', 2,
                            '--out', 's.npy', '--device', 'host', '--json')
        shape, descr, values = npy_values(self.path / 's.npy')
        self.assertEqual((shape, descr, values[:6]), ((2, 6), '<f4', values[:6]) if len(shape) == 2 else ((2, 2, 6), '<f4', STATES[1]))
        told = json.loads(done.stdout)
        self.assertEqual((told['strategy'], told['steps'], told['every'], told['nonfinite']), ('host', 4, 2, 0))
        self.assertLess(abs(told['step_growth'] - 1), 1e-5)

    def test_long_runs_take_all_steps_at_once_where_accuracy_allows(self):
        self.put('free.stn', 'field u(2)\nstencil lap = laplace-1d\nu.next = 2*u - u.prev + 0.2*lap(u)')
        self.put_npy('long.npy', [500], [float(i % 7) for i in range(500)])
        run = ('run', '--system', 'free.stn', '--field', 'u=long.npy', '--steps', 20000, '--device', 'host', '--out', 'o.npy', '--json')
        for more, expected in (((), 'modes'), (('--accuracy', 'global'), 'modes'), (('--accuracy', 'local'), 'host'), (('--tolerance', '1e-18'), 'host'),
                               (('--strategy', 'host'), 'host'), (('--steps', 1), 'host'), (('--steps', 1, '--strategy', 'modes'), 'modes')):
            self.assertEqual(json.loads(self.succeed(*run, *more).stdout)['strategy'], expected, more)
        self.refuse(2, 'give global or local', *run, '--accuracy', 'much')
        self.refuse(2, 'must be finite and not below 0', *run, '--tolerance=-1')

    def test_pictures_of_each_state(self):
        self.put('h.stn', 'field u\nstencil h = heat-2d\nu.next = h(u)')
        self.put_npy('grid.npy', [8, 9], [float(i % 5) for i in range(72)])
        self.succeed('run', '--system', 'h.stn', '--field', 'u=grid.npy', '--steps', 4, '--every', 2, '--png', 'p.png', '--device', 'host')
        self.assertTrue((self.path / 'p-0001.png').exists() and (self.path / 'p-0002.png').exists())

    def test_growth_is_told_before_the_run(self):
        done = self.succeed(*self.given, '--coefficient', 'c2=1.2', '--steps', 3)
        self.assertIn('grows without bound', done.stderr)
        self.refuse(2, 'take smaller steps', *self.given, '--coefficient', 'c2=1.2', '--steps', 3, '--stable')
        self.assertNotIn('grows', self.succeed(*self.given, '--coefficient', 'c2=0.9', '--steps', 3, '--stable').stderr)

    def test_checkpoints(self):
        """A run of other numbers or files does not continue from one; no other file is written."""
        run = (*self.given, '--steps', 4, '--every', 2, '--checkpoint', 'c.npy')
        self.succeed(*run, '--coefficient', 'c2=1')
        shape, _, values = npy_values(self.path / 'c.npy')
        self.assertEqual((shape, values), ((2, 6), [x for state in by_hand(START, START, [1] * 6, 4) for x in state]))
        self.refuse(2, 'is of another problem', *run, '--coefficient', 'c2=0.5')
        self.put_npy('u.npy', [6], STATES[0])
        self.refuse(2, 'or of other files', *run, '--coefficient', 'c2=1')
        self.put_npy('c.npy', [6], START)
        self.refuse(10, 'exists and is not a checkpoint', *run, '--coefficient', 'c2=1')
        for says, more in (('would overwrite', ('--out', './c.npy')), ('would overwrite', ('--keep', 'u.prev=c.npy')),
                           ('--png is not offered with --checkpoint', ('--png', 'x.png')), ('only .npy is written', ('--out', 'v.png'))):
            self.refuse(2, says, *run, '--coefficient', 'c2=1', *more)
        self.refuse(2, 'needs --every', *self.given, '--coefficient', 'c2=1', '--steps', 4, '--checkpoint', 'd.npy')
        self.refuse(2, 'would overwrite', *self.given, '--coefficient', 'c2=1', '--steps', 4, '--every', 2, '--checkpoint', 'u.npy')
        self.assertEqual(npy_values(self.path / 'u.npy')[2], STATES[0])

    def test_refusals(self):
        self.put('bad.stn', 'field u\nu.next = u + w\n')
        self.put('long.stn', 'field u\nu.next = u' + '+u' * 50000)
        self.put_npy('short.npy', [5], [0.] * 5)
        given = [*self.given, '--coefficient', 'c2=1']
        self.refuse(2, "'bad.stn': line 2, column 14: \"w\" is not declared", 'run', '--system', 'bad.stn', '--field', 'u=u.npy')
        self.refuse(2, 'more than 65536 characters', 'run', '--system', 'long.stn')
        self.refuse(9, "cannot read 'none.stn'", 'run', '--system', 'none.stn')
        self.refuse(2, 'names no field', *given, '--field', 'w=u.npy')
        self.refuse(2, 'names no coefficient', *given, '--coefficient', 'u=2')
        self.refuse(2, 'given twice', *given, '--coefficient', 'c2=2')
        self.refuse(2, 'c2 is not given', *self.given)
        self.refuse(2, 'other extents than the grid', *self.given, '--coefficient', 'c2=short.npy')
        self.put('any.stn', 'field u\ncoefficient c\nu.next = c*u')
        self.put_npy('one.npy', [], [1.])
        self.refuse(2, 'other extents than the grid', 'run', '--system', 'any.stn', '--field', 'u=u.npy', '--coefficient', 'c=one.npy')
        self.refuse(2, 'other extents than the first', *given, '--field', 'u.prev=short.npy')
        self.put_npy('none.npy', [0, 6], [])
        self.refuse(2, 'hold a batch of no grids', 'run', '--system', 'wave.stn', '--field', 'u=none.npy', '--coefficient', 'c2=1')
        self.refuse(2, 'does not divide', *given, '--steps', 5, '--every', 2)
        self.refuse(2, '--stencil', *given, '--stencil', 'heat-1d')
        self.refuse(2, '--system', 'run', '--in', 'u.npy', '--stencil', 'heat-1d', '--field', 'u=u.npy')
        self.refuse(2, '--repeat', *given, '--repeat', 2)
        for files in (('--out', 'o.npy', '--keep', 'u.prev=./o.npy'), ('--keep', 'u=k.npy', '--keep', 'u.prev=k.npy')):
            self.refuse(2, 'would overwrite', *given, *files)
        self.put_npy('c.npy', [6], [1] * 6)
        self.refuse(2, 'would overwrite', *self.given, '--coefficient', 'c2=c.npy', '--out', 'c.npy')
        self.refuse(2, 'two or three axes', *given, '--png', 'x.png')
        self.assertFalse((self.path / 'x.png').exists())


if __name__ == '__main__':
    unittest.main()
