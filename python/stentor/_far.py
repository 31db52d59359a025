"""Plans on the host for stencils beyond the library's limits of radius or number of taps.

Each step adds up groups of taps, each of which the library accepts.
"""

import json
from typing import Optional, Tuple

import numpy as np

from ._filter import GroupedPass, Pass
from ._library import lib
from ._progress import here
from ._stencil import Taps


class FarHandle:
    """Stands in for a Handle: has the same methods, for arrays on the host."""

    workspace = 0

    def __init__(self, shape: Tuple[int, ...], dtype: np.dtype, work: Pass, steps: int, every: int):
        if every and steps % every:
            raise ValueError(f'{steps} steps are no multiple of every, which is {every}: give one')
        self._shape, self._dtype, self._pass, self._steps, self._every = shape, dtype, work, steps, every
        self._wide = GroupedPass(shape, work)

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        self.run_source(source, None, target)

    def run_source(self, source: np.ndarray, constant: Optional[np.ndarray], target: np.ndarray) -> None:
        """Runs all steps, and adds a constant source in each step."""
        spare = [np.empty(self._shape, self._dtype) for _ in range(2)]
        for step in range(1, self._steps + 1):
            kept = step % self._every == 0 if self._every else step == self._steps
            to = (target[step // self._every - 1] if self._every else target) if kept else spare[step % 2]
            self._wide.run_arrays(source, to)
            if constant is not None:
                to += constant
            source = to
            if here.progress is not None:
                here.progress(step, self._steps)

    def set_weights(self, weights: np.ndarray) -> None:
        self._pass = self._pass._replace(taps=Taps(self._pass.taps.offsets, weights))
        self._wide = GroupedPass(self._shape, self._pass)

    def strategy(self) -> str:
        return 'host'

    def describe(self, form: str) -> str:
        reach = [max(each) for each in self._pass.taps.reach()]
        told = {'strategy': 'host', 'shape': list(self._shape), 'dtype': self._dtype.name, 'taps': len(self._pass.taps.weights),
                'reach': reach, 'steps': self._steps, 'every': self._every}
        if form == 'json':
            return json.dumps(told)
        return (f'{told["taps"]} taps that reach {" x ".join(map(str, reach))} points on {" x ".join(map(str, self._shape))} points, {told["dtype"]}, '
                f'{self._steps} steps\nstrategy host: taps that reach over {lib.STN_MAX_HOST_RADIUS} points, or are over {lib.STN_MAX_TAPS}, are added in '
                f'{len(self._wide.groups)} groups, step by step\n')
