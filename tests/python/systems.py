"""Random systems as expression trees, as text, and evaluated by NumPy as the reference.

The evaluation is independent of the library's implementation. A tree is a tuple: ('number', v),
('field', name, level), ('coefficient', name), ('stencil', name, tree), or (operator, tree...).
"""
import numpy as np

LEVELS = ('', '.prev', '.prev2')
PAST = ('wrap', 'constant', 'nearest', 'reflect', 'mirror', 'odd-reflect', 'odd-mirror')
FUNCTIONS = {'min': np.fmin, 'max': np.fmax, 'abs': np.abs, 'sqrt': np.sqrt, 'exp': np.exp, 'sin': np.sin, 'cos': np.cos,
             'tanh': np.tanh, 'pow': np.power, 'log': np.log}
BINARY = {'+': (np.add, 2), '-': (np.subtract, 2), '*': (np.multiply, 3), '/': (np.divide, 3), '<': (np.less, 1),
          '<=': (np.less_equal, 1), '>': (np.greater, 1), '>=': (np.greater_equal, 1), '==': (np.equal, 1), '!=': (np.not_equal, 1)}

WAVE = '''
field u(2)
coefficient c2
stencil lap = laplace-{rank}d:order={order}
boundary u = {sides}
u.next = 2*u - u.prev + c2*lap(u)
'''


def symbol(order, k):
    """The symbol of the second derivative's taps for a wave of wave number k."""
    n = order // 2
    weights = np.linalg.solve([[j ** (2 * i) for j in range(1, n + 1)] for i in range(1, n + 1)], [1.0] + [0.0] * (n - 1))
    return sum(w * 2 * (np.cos(k * j) - 1) for j, w in zip(range(1, n + 1), weights))


def named(state):
    """{'u': ..., 'u.prev': ...} of {field: [levels]}."""
    return {name + LEVELS[level]: array for name, levels in state.items() for level, array in enumerate(levels)}


# ---- trees ---------------------------------------------------------------------------------------


class Generator:
    """Draws a random system.

    With `smooth`, it has no functions whose last bit differs between libraries, and no conditions
    that rounding could change."""

    def __init__(self, rng, rank=None, smooth=False):
        self.rng, self.smooth = rng, smooth
        self.rank = rank or int(rng.integers(1, 4))
        self.fields = {f'u{i}': int(rng.integers(1, 4)) for i in range(rng.integers(1, 5))}
        self.coefficients = {f'c{i}': None if rng.random() < 0.7 else float(np.round(rng.uniform(-1, 1), 3))
                             for i in range(rng.integers(0, 4))}
        self.stencils = {f's{i}': self.stencil() for i in range(rng.integers(1, 4))}
        self.sides = {name: self.boundary(name in self.fields) for name in [*self.fields, *self.coefficients]}
        self.order = list(rng.permutation(list(self.fields)))
        self.equations = {}
        for name in self.order:
            self.equations[name] = self.tree(int(rng.integers(2, 5)), 2)

    def pick(self, values):
        return values[int(self.rng.integers(len(values)))]

    def stencil(self):
        """The pair (text, {offset: weight}), in the order of offsets."""
        kind, axis = self.pick(('axis', 'full', 'named')), int(self.rng.integers(self.rank))
        if kind == 'named':
            taps = {(0,) * self.rank: -2.0 * self.rank}
            for a in range(self.rank):
                for o in (-1, 1):
                    taps[tuple(o if i == a else 0 for i in range(self.rank))] = 1.0
            return f'laplace-{self.rank}d', dict(sorted(taps.items()))
        count = int(self.rng.integers(1, 5))
        weights = [float(each) for each in np.round(self.rng.uniform(-1, 1, count), 3)]
        if kind == 'axis':
            offsets = [int(each) for each in self.rng.permutation(np.arange(-2, 3))[:count]]
            text = f'taps {"xyz"[self.rank - 1 - axis]} [{", ".join(map(str, offsets))}] ({" ".join(map(repr, weights))})'
            full = [tuple(o if i == axis else 0 for i in range(self.rank)) for o in offsets]
        else:
            full = list({tuple(int(each) for each in self.rng.integers(-1, 2, self.rank)) for _ in range(count)})
            weights = weights[:len(full)]
            text = f'taps [{", ".join(" ".join(map(str, o)) for o in full)}] ({", ".join(map(repr, weights))})'
        return text, dict(sorted(zip(full, weights)))

    def boundary(self, field):
        rules = []
        for _ in range(self.rank):
            names = [self.pick(PAST[1:] + (('fixed',) if field else ())) for _ in range(2)]
            if self.rng.random() < 0.3:
                names = ['wrap', 'wrap']
            rules.append([(name, float(np.round(self.rng.uniform(-1, 1), 2)) if name == 'constant' else 0.0) for name in names])
        return rules

    def field(self):
        name = self.pick(list(self.fields))
        if name in self.equations and self.rng.random() < 0.5:
            return ('field', name, -1)
        return ('field', name, int(self.rng.integers(self.fields[name])))

    def leaf(self):
        draw = self.rng.random()
        if draw < 0.15:
            return ('number', float(np.round(self.rng.uniform(0, 2), 2)))
        if draw < 0.4 and self.coefficients:
            return ('coefficient', self.pick(list(self.coefficients)))
        return self.field()

    def tree(self, depth, stencils):
        draw = self.rng.random()
        if not depth or draw < 0.1:
            return self.leaf()
        if draw < 0.35 and stencils:
            return ('stencil', self.pick(list(self.stencils)), self.tree(depth - 1, stencils - 1))
        if draw < 0.75:
            return (self.pick('+-*'), self.tree(depth - 1, stencils), self.tree(depth - 1, stencils))
        if draw < 0.8:
            return ('negate', self.tree(depth - 1, stencils))
        if draw < 0.86:
            return ('/', self.tree(depth - 1, stencils), ('+', ('number', 1.5), ('abs', self.tree(depth - 1, 0))))
        if draw < 0.92:
            mask = ('coefficient', self.pick(list(self.coefficients))) if self.coefficients else ('number', 1.0)
            if not self.smooth:
                mask = self.tree(depth - 1, 0)
            return ('where', (self.pick(('<', '<=', '>', '>=', '==', '!=')), mask, ('number', 0.11)),
                    self.tree(depth - 1, stencils), self.tree(depth - 1, stencils))
        if draw < 0.96:
            return (self.pick(('min', 'max')), self.tree(depth - 1, stencils), self.tree(depth - 1, stencils))
        inner = self.tree(depth - 1, 0)
        if self.smooth:
            return ('sqrt', ('abs', inner))
        return self.pick([('tanh', inner), ('sin', inner), ('cos', inner), ('exp', ('min', inner, ('number', 1.0))),
                          ('log', ('+', ('number', 1.0), ('abs', inner))), ('pow', ('abs', inner), ('number', 1.5))])

    # ---- as text ---------------------------------------------------------------------------------

    def text(self):
        lines = ['field ' + ', '.join(f'{name}({levels})' if levels > 1 else name for name, levels in self.fields.items())]
        for name, value in self.coefficients.items():
            lines.append(f'coefficient {name}' + ('' if value is None else f' = {value!r}'))
        lines += [f'stencil {name} = {text}' for name, (text, _) in self.stencils.items()]
        for name, rules in self.sides.items():
            said = [':'.join(side if side != 'constant' else f'constant={value!r}' for side, value in rule) for rule in rules]
            lines.append(f'boundary {name} = {", ".join(said)}')
        lines += [f'{name}.next = {written(self.equations[name])}' for name in self.order]
        return '\n'.join(lines)

    # ---- by NumPy --------------------------------------------------------------------------------

    def reach(self):
        """The reach of each equation in points, by axis: [(low, high)...]."""
        return {name: _reach(self, tree, [(0, 0)] * self.rank) for name, tree in self.equations.items()}

    def run(self, state, coefficients, steps, dtype, sources=(), receivers=(), record_every=1):
        """Yields (step, state, records or None) after each step.

        `state` is {field: [levels]}, with arrays of shape [batch, extent...]."""
        real = np.float64 if dtype == np.float64 else np.float32
        state = {name: [np.asarray(each, dtype) for each in levels] for name, levels in state.items()}
        for step in range(1, steps + 1):
            found = {}
            for name in self.order:
                made = _Evaluation(self, state, found, coefficients, real, dtype).value(self.equations[name])
                shape = state[name][0].shape
                made = np.broadcast_to(made, shape).astype(dtype)
                live = np.ones(shape[1:], bool)
                for axis, (low, high) in enumerate(self.reach()[name]):
                    index, n = np.arange(shape[1 + axis]), shape[1 + axis]
                    kept = np.zeros(n, bool)
                    if self.sides[name][axis][0][0] == 'fixed':
                        kept |= index < low
                    if self.sides[name][axis][1][0] == 'fixed':
                        kept |= index >= n - high
                    live &= ~kept.reshape([-1 if i == axis else 1 for i in range(self.rank)])
                made = np.where(live, made, state[name][0])
                for field, index, weight, signal in sources:
                    if field == name:
                        at = (slice(None), *index)
                        made[at] = (made[at].astype(real) + real(weight) * real(signal[step - 1])).astype(dtype)
                found[name] = made
            state = {name: [found[name], *levels[:-1]] for name, levels in state.items()}
            records = None
            if receivers and step % record_every == 0:
                records = np.stack([sum(real(w) * state[field][0][(slice(None), *index)].astype(real) for field, index, w in points)
                                    for points in receivers], axis=-1)
            yield step, state, records


def _reach(system, tree, around):
    kind = tree[0]
    if kind == 'number':
        return [(0, 0)] * system.rank
    if kind in ('field', 'coefficient'):
        return [(max(low, 0), max(high, 0)) for low, high in around]
    if kind == 'stencil':
        offsets = list(system.stencils[tree[1]][1])
        around = [(low + max(-o[a] for o in offsets), high + max(o[a] for o in offsets)) for a, (low, high) in enumerate(around)]
    found = [_reach(system, each, around) for each in tree[1:] if isinstance(each, tuple)]
    return [(max(each[a][0] for each in found), max(each[a][1] for each in found)) for a in range(system.rank)]


class _Evaluation:
    """The value of a tree at all points, shifted by an offset, also past the sides."""

    def __init__(self, system, state, found, coefficients, real, dtype):
        self.system, self.state, self.found, self.coefficients, self.real, self.dtype = system, state, found, coefficients, real, dtype

    def value(self, tree, offset=None):
        offset = offset or (0,) * self.system.rank
        kind, real = tree[0], self.real
        if kind == 'number':
            return real(tree[1])
        if kind == 'field':
            array = self.found[tree[1]] if tree[2] < 0 else self.state[tree[1]][tree[2]]
            return self.shifted(array, self.system.sides[tree[1]], offset)
        if kind == 'coefficient':
            given = self.coefficients.get(tree[1], self.system.coefficients[tree[1]])
            return real(given) if np.ndim(given) == 0 else self.shifted(np.asarray(given, self.dtype)[None], self.system.sides[tree[1]], offset)
        if kind == 'stencil':
            total = None
            for tap, weight in self.system.stencils[tree[1]][1].items():
                term = real(weight) * self.value(tree[2], tuple(a + b for a, b in zip(offset, tap)))
                total = term if total is None else total + term
            return total
        operands = [self.value(each, offset) for each in tree[1:]]
        with np.errstate(all='ignore'):
            if kind == 'negate':
                return -operands[0]
            if kind == 'where':
                return np.where(operands[0] != 0, operands[1], operands[2])
            made = (FUNCTIONS[kind] if kind in FUNCTIONS else BINARY[kind][0])(*operands)
        return made.astype(real) if hasattr(made, 'astype') else real(made)

    def shifted(self, array, sides, offset):
        """array[x + offset], where each axis is folded by its boundary rules, the slowest first."""
        return self.fold(np.asarray(array).astype(self.real), sides, offset, 0)

    def fold(self, array, sides, offset, axis):
        if axis == self.system.rank:
            return array
        n = array.shape[1 + axis]
        index, sign, constant, past = [], [], [], []
        for i in range(offset[axis], n + offset[axis]):
            name, value = sides[axis][int(i >= n)] if not 0 <= i < n else ('inside', 0.0)
            j = {'inside': i, 'wrap': i % n, 'constant': 0, 'nearest': min(max(i, 0), n - 1), 'fixed': min(max(i, 0), n - 1)}.get(name)
            if name.endswith('reflect'):
                j = -1 - i if i < 0 else 2 * n - 1 - i
            if name.endswith('mirror'):
                j = -i if i < 0 else 2 * (n - 1) - i
            index.append(j)
            sign.append(-1 if name.startswith('odd') else 1)
            past.append(name == 'constant')
            constant.append(float(self.dtype(value)))
        along = [-1 if a == 1 + axis else 1 for a in range(array.ndim)]
        rest = self.fold(np.take(array, index, axis=1 + axis), sides, offset, axis + 1)
        rest = rest * np.array(sign, self.real).reshape(along)
        return np.where(np.array(past).reshape(along), np.array(constant, self.real).reshape(along), rest)


def written(tree, least=0):
    """The tree as text, with as few brackets as possible."""
    kind = tree[0]
    if kind == 'number':
        return repr(tree[1])
    if kind == 'field':
        return tree[1] + ('.next' if tree[2] < 0 else LEVELS[tree[2]])
    if kind == 'coefficient':
        return tree[1]
    if kind == 'stencil':
        return f'{tree[1]}({written(tree[2])})'
    if kind == 'negate':
        own, text = 4, '-' + written(tree[1], 4)
    elif kind in BINARY:
        own = BINARY[kind][1]
        text = f'{written(tree[1], own + (own == 1))} {kind} {written(tree[2], own + 1)}'
    else:
        return f'{kind}({", ".join(map(written, tree[1:]))})'
    return f'({text})' if own < least else text
