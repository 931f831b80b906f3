"""The chooser ``tuned``: what was measured of a kernel, for who compiles it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import UserError
from wave_core.plugin import Choice
from wave_tune.key import key_of
from wave_tune.points import Point
from wave_tune.store import measured_on, store_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from optuna import Study

    from wave_core.plugin import ChoiceRequest
    from wave_tune.store import Store

EMULATED = "emulator"
"""What the name of a device that only counts cycles begins with."""


def recall(request: ChoiceRequest) -> Iterable[Choice]:
    """The best ways that were measured, those on a GPU first.

    Nothing where nothing was measured. A store that cannot be used is told once.
    """
    store = None
    try:
        store = store_of()
        if store is None or (store.path is not None and not store.path.exists()):
            return []
        return list(_known(request, store))
    except UserError as error:
        if error.code != "WV0830":
            raise
        told = error.diagnostics[0].message
        request.announce("WV0830", f"{told}; kernels are compiled without it")
        return []


def _known(request: ChoiceRequest, store: Store) -> Iterator[Choice]:
    """What the studies of a kernel say that can still be compiled."""
    with store.failures():
        studies = sorted(store.studies(key_of(request).text()), key=_rank)
    for study in studies:
        with store.failures():
            found = _best(study)
        if found is None:
            continue
        point, figures = found
        for values in request.values:
            if Point.of(values, {}).subs == point.subs:
                yield Choice(values, _as_options(point), figures)


def _rank(study: Study) -> bool:
    return measured_on(study).startswith(EMULATED)


def _best(study: Study) -> tuple[Point, dict[str, float]] | None:
    """The fastest point of a study, and its time."""
    done = [t for t in study.get_trials(deepcopy=False) if t.state.name == "COMPLETE"]
    if not done:
        return None
    best = min(done, key=lambda trial: trial.value or 0.0)
    unit = best.user_attrs["unit"]
    point = Point.of_text(best.user_attrs["point"])
    return point, {f"measured {unit}": float(best.value or 0.0)}


def _as_options(point: Point) -> dict[str, Any]:
    """The options of a point; lists of JSON become tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType] - JSON values
        for name, value in point.options.items()
    }
