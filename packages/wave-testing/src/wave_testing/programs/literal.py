"""Programs written by hand: short ways to write their statements."""

from __future__ import annotations

from typing import Any

from wave_testing.programs.model import Step

_ACCESS: dict[str, Any] = {"mapping": None, "index": ()}


def step(kind: str, name: str, *args: str, **attributes: Any) -> Step:
    """A statement; ``name`` holds the values that it defines, by commas."""
    names = tuple(part for part in name.split(",") if part)
    return Step(kind, names, args, tuple(sorted(attributes.items())))


def read(name: str, memory: str, *dims: str, **fields: Any) -> Step:
    """A read of a tile over ``dims``; ``mapping`` and ``index`` as in `Step`."""
    return step("read", name, memory=memory, shape=dims, **{**_ACCESS, **fields})


def write(value: str, memory: str, *dims: str, **fields: Any) -> Step:
    """A write of a tile over ``dims``."""
    return step("write", "", value, memory=memory, shape=dims, **{**_ACCESS, **fields})


def splat(name: str, dtype: str, value: float, *dims: str) -> Step:
    """A constant."""
    return step("splat", name, shape=dims, dtype=dtype, value=value)
