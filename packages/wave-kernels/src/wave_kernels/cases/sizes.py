"""Sizes and settings with their defaults, as symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

import wave_core.lang as tkl

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import numpy as np

    from wave_core.types import DType


def with_defaults(
    given: Mapping[str, int | str], defaults: Mapping[str, int]
) -> dict[str, int]:
    """The defaults, with what is given in their place."""
    chosen = {**defaults, **given}
    return {name: int(value) for name, value in chosen.items()}


def symbols(
    sizes: Mapping[str, int], settings: Mapping[str, int]
) -> tuple[dict[Any, Any], list[Any]]:
    """Values of the size and tile symbols; the sizes that stay dynamic.

    The setting ``DYNAMIC`` leaves all sizes to the launch; ``STAGED`` asks for the
    operands in LDS.
    """
    tiles = {n: v for n, v in settings.items() if n.startswith("BLOCK_")}
    subs: dict[Any, Any] = {getattr(tkl.sym, name): v for name, v in tiles.items()}
    subs[tkl.sym.ADDRESS_SPACE] = address_space(settings)
    names = [getattr(tkl.sym, name) for name in sizes]
    if settings.get("DYNAMIC"):
        return subs, names
    return subs | dict(zip(names, sizes.values(), strict=True)), []


def address_space(settings: Mapping[str, int]) -> Any:
    """Where operands are read from: LDS with the setting ``STAGED``."""
    staged = settings.get("STAGED")
    return tkl.SHARED_ADDRESS_SPACE if staged else tkl.GLOBAL_ADDRESS_SPACE


def normal(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: DType
) -> np.ndarray:
    """Standard normal numbers, rounded to ``dtype``."""
    return rng.standard_normal(shape).astype(dtype.numpy())


def poisoned(shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    """An output full of NaN, so that an element nobody writes shows."""
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    return np.full(shape, np.nan).astype(dtype.numpy())
