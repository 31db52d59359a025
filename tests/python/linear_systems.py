"""Random linear systems whose coefficients are numbers: as text, and evaluated by NumPy."""
import numpy as np

from systems import Generator


class Linear(Generator):
    """Draws a linear system.

    mirrored: sides reflect and stencils are symmetric along each axis; otherwise all axes wrap."""

    def __init__(self, rng, rank=None, mirrored=False):
        self.mirrored, self.affine = mirrored, False
        self.affine_allowed = rng.random() < 0.3
        super().__init__(rng, rank)

    def stencil(self):
        text, taps = super().stencil()
        if not self.mirrored or text.startswith('laplace'):
            return text, taps
        full = {}
        for offset, weight in taps.items():
            for signs in np.ndindex(*(2,) * self.rank):
                full[tuple(o * (1 - 2 * s) for o, s in zip(offset, signs))] = weight
        text = f'taps [{", ".join(" ".join(map(str, o)) for o in full)}] ({", ".join(map(repr, full.values()))})'
        return text, dict(sorted(full.items()))

    def boundary(self, field):
        if not field:
            return [[('nearest', 0.0)] * 2] * self.rank
        if not self.mirrored:
            return [[('wrap', 0.0)] * 2] * self.rank
        if not hasattr(self, 'rules'):
            even = self.affine_allowed
            kinds = [('wrap', 'wrap'), ('reflect', 'reflect'), ('mirror', 'mirror')] + ([] if even else [('odd-reflect', 'odd-reflect'),
                     ('reflect', 'odd-reflect'), ('odd-reflect', 'reflect')])
            self.rules = [[(name, 0.0) for name in self.pick(kinds)] for _ in range(self.rank)]
        return self.rules

    def number(self, depth=2):
        """A constant expression."""
        draw = self.rng.random()
        if not depth or draw < 0.5:
            if self.coefficients and self.rng.random() < 0.5:
                return ('coefficient', self.pick(list(self.coefficients)))
            return ('number', float(np.round(self.rng.uniform(0, 1), 2)))
        if draw < 0.8:
            return (self.pick('+-*'), self.number(depth - 1), self.number(depth - 1))
        return self.pick([('sqrt', ('abs', self.number(depth - 1))), ('min', self.number(depth - 1), ('number', 0.5)),
                          ('where', ('<', self.number(depth - 1), ('number', 0.21)), self.number(depth - 1), ('number', 0.3))])

    def linear(self, depth, stencils):
        draw = self.rng.random()
        if not depth or draw < 0.1:
            return self.field()
        if draw < 0.4 and stencils:
            return ('stencil', self.pick(list(self.stencils)), self.linear(depth - 1, stencils - 1))
        if draw < 0.7:
            return (self.pick('+-'), self.linear(depth - 1, stencils), self.linear(depth - 1, stencils))
        if draw < 0.85:
            pair = [self.number(), self.linear(depth - 1, stencils)]
            return ('*', *(pair if self.rng.random() < 0.5 else pair[::-1]))
        if draw < 0.92:
            return ('/', self.linear(depth - 1, stencils), ('+', ('number', 1.5), ('abs', self.number())))
        if draw < 0.97 or not self.affine_allowed:
            return ('negate', self.linear(depth - 1, stencils))
        self.affine = True
        return (self.pick('+-'), *([self.number(), self.linear(depth - 1, stencils)][:: 1 - 2 * int(self.rng.integers(2))]))

    def tree(self, depth, stencils):
        """Not far from a rotation or a decay, so that long runs stay finite."""
        return ('+', ('*', ('number', 0.7), self.field()), ('*', ('number', 0.2), self.linear(depth, stencils)))


class Signed(Linear):
    """Fields between even or odd mirrors, with stencils that are even or odd along each axis."""

    def __init__(self, rng):
        super().__init__(rng, mirrored=True)

    def stencil(self):
        _, taps = Generator.stencil(self)
        odd, full = self.rng.random(self.rank) < 0.3, {}
        for offset, weight in [*taps.items(), (tuple(int(each) for each in odd), 0.5)]:
            if not all(o for o, is_odd in zip(offset, odd) if is_odd):
                continue
            for signs in np.ndindex(*(2,) * self.rank):
                changes = sum(s for s, is_odd in zip(signs, odd) if is_odd)
                full[tuple(o * (1 - 2 * s) for o, s in zip(offset, signs))] = -weight if changes % 2 else weight
        return f'taps [{", ".join(" ".join(map(str, o)) for o in full)}] ({", ".join(map(repr, full.values()))})', dict(sorted(full.items()))

    def boundary(self, field):
        return [[(self.pick(('reflect', 'odd-reflect')) if field else 'nearest', 0.0)] * 2 for _ in range(self.rank)]
