"""Sizes and settings with their defaults, as symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

import wave_core.lang as tkl
from wave_core.compile.kernels import OPEN
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    import numpy as np

    from wave_core.types import DType


def with_defaults(
    given: Mapping[str, int | str], defaults: Mapping[str, int]
) -> dict[str, int]:
    """What is given of these, and the defaults of the others."""
    return {name: int(given.get(name, value)) for name, value in defaults.items()}


def left_open(
    given: Mapping[str, int | str], names: Iterable[str]
) -> dict[str, int | str]:
    """The settings of these names that are given; the others stay open."""
    return {name: given.get(name, OPEN) for name in names}


def one_of(
    table: Collection[str], kernel: str, name: str, given: int | str | None, usual: str
) -> str:
    """The word that a setting takes, ``usual`` where none is given.

    Raises:
        UserError: WV0823 for a word that is not in ``table``.
    """
    word = usual if given is None else given
    if word not in table:
        raise user_error(
            "WV0823",
            f"setting `{name}` of kernel `{kernel}` is `{word}`",
            help=f"it takes one of {', '.join(table)}",
        )
    return str(word)


def symbols(
    sizes: Mapping[str, int], settings: Mapping[str, int | str]
) -> tuple[dict[Any, Any], list[Any]]:
    """Values of the size and tile symbols; the sizes that stay dynamic.

    The setting ``DYNAMIC`` leaves all sizes to the launch; ``STAGED`` asks for the
    operands in LDS.
    """
    given = {name: value for name, value in settings.items() if value != OPEN}
    kinds = ("BLOCK_", "WAVES_", "MMA_")
    tiles = {name: value for name, value in given.items() if name.startswith(kinds)}
    subs: dict[Any, Any] = {getattr(tkl.sym, name): v for name, v in tiles.items()}
    if "STAGED" in given:
        subs[tkl.sym.ADDRESS_SPACE] = address_space(given["STAGED"])
    names = [getattr(tkl.sym, name) for name in sizes]
    if given.get("DYNAMIC"):
        return subs, names
    return subs | dict(zip(names, sizes.values(), strict=True)), []


def address_space(staged: int | str) -> Any:
    """Where operands are read from: LDS where ``staged`` is not 0."""
    return tkl.SHARED_ADDRESS_SPACE if staged else tkl.GLOBAL_ADDRESS_SPACE


def normal(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: DType
) -> np.ndarray:
    """Standard normal numbers, rounded to ``dtype``."""
    return rng.standard_normal(shape).astype(dtype.numpy())


def operand(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: DType
) -> np.ndarray:
    """Normal floats, or integers of any size that ``dtype`` has."""
    if dtype.is_float:
        return normal(rng, shape, dtype)
    end = 1 << (dtype.bits - 1)
    return rng.integers(-end, end, shape, dtype.numpy())


def poisoned(shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    """An output full of NaN, so that an element nobody writes shows.

    Integers have none, and are the least that there is.
    """
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    value = np.nan if dtype.is_float else -(1 << (dtype.bits - 1))
    return np.full(shape, value).astype(dtype.numpy())
