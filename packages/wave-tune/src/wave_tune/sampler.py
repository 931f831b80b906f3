"""Which candidate is measured next: the compiler's estimate, corrected by what was.

The logarithm of what is measured is the estimate's, or one constant, plus a term for
each value that a candidate has: of each parameter, and of each symbol. The terms have a
normal prior around 0, so a few measurements correct all candidates that share values
with them, and tell how unsure that leaves the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.samplers import BaseSampler

from wave_tune.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

    from wave_tune.points import Candidate, Space

TERM = 0.2
"""Standard deviation of a term, as a share of the time."""

NOISE = 0.1
"""That of what no term explains."""

OFFSET = 3.0
"""That of the constant: estimates count in cycles, clocks in seconds."""

CURIOSITY = 1.0
"""How many standard deviations faster than expected a candidate is taken for."""

UNKNOWN = 2.0
"""How many times as slow as the best a candidate without an estimate is taken for."""


class EstimateSampler(BaseSampler):
    """Optuna's sampler for a `Space`: each candidate once, the most promising first."""

    def __init__(self, space: Space) -> None:
        """Nothing is measured yet."""
        self._space = space
        self._features = _features(space)
        self._prior = _prior(space.tried)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """All parameters belong together."""
        del study, trial
        return distributions(self._space)

    def sample_relative(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
    ) -> dict[str, Any]:
        """The coordinates of the next candidate; of the first where none is left."""
        del trial, search_space
        progress = Progress.of(study, self._space)
        found = self.next(progress.measured, progress.taken)
        return dict((found or self._space.tried[0]).params)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Never needed: no parameter is apart from the others."""
        del study, trial, param_name
        assert isinstance(param_distribution, CategoricalDistribution)
        return param_distribution.choices[0]

    def next(
        self, measured: Mapping[str, float], taken: frozenset[str]
    ) -> Candidate | None:
        """The most promising candidate that nobody takes.

        Args:
            measured: Times of points, by their text.
            taken: Points that were or are being measured.
        """
        rows = self._space.tried
        open_rows = [i for i, row in enumerate(rows) if row.point.text() not in taken]
        if not open_rows:
            return None
        bound = self._bounds(measured)
        return rows[min(open_rows, key=lambda row: (float(bound[row]), row))]

    def _bounds(self, measured: Mapping[str, float]) -> npt.NDArray[np.float64]:
        """How fast each candidate may well be: logarithms."""
        rows = self._space.tried
        known = [i for i, row in enumerate(rows) if measured.get(row.point.text(), 0.0)]
        if not known:
            return self._prior
        times = np.log([measured[rows[i].point.text()] for i in known])
        seen, every = self._features[known], self._features
        scale = np.full(every.shape[1], TERM**2)
        scale[0] = OFFSET**2
        spread = (seen * scale) @ seen.T + NOISE**2 * np.eye(len(known))
        across = (every * scale) @ seen.T
        gain = np.linalg.solve(spread, across.T).T
        mean = self._prior + gain @ (times - self._prior[known])
        own = np.einsum("ij,j,ij->i", every, scale, every)
        left = own - np.einsum("ij,ij->i", gain, across)
        # The constant is the same for all: what it leaves unsure ranks nobody.
        return mean - CURIOSITY * np.sqrt(np.maximum(left, 0.0))


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """The parameters of a trial, as Optuna declares them."""
    return {name: CategoricalDistribution(axis) for name, axis in space.axes.items()}


def _prior(rows: Sequence[Candidate]) -> npt.NDArray[np.float64]:
    """Logarithms of the estimates."""
    known = [row.cycles for row in rows if row.cycles]
    usual = UNKNOWN * min(known) if known else 1.0
    return np.log([row.cycles or usual for row in rows])


def _features(space: Space) -> npt.NDArray[np.float64]:
    """A column for the constant and for each value, 1 where a candidate has it."""
    held = [_values(space, each) for each in space.tried]
    names = sorted({value for values in held for value in values})
    table = [[1.0, *(float(name in values) for name in names)] for values in held]
    return np.array(table)


def _values(space: Space, row: Candidate) -> set[str]:
    """The values that a candidate has, each with what it is a value of."""
    found = {f"{name}={value}" for name, value in row.params.items()}
    for symbols in space.groups.values():
        found |= {f"{each}={row.point.subs[each]}" for each in symbols}
    return found | {f"{key}:{value}" for key, value in row.point.options.items()}
