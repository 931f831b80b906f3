"""Which targets' code an NVIDIA GPU runs, by its compute capability."""

from __future__ import annotations

_CAPABILITIES = (
    *((7, 5), (8, 0), (8, 6), (8, 7), (8, 8), (8, 9), (9, 0)),
    *((10, 0), (10, 3), (11, 0), (12, 0), (12, 1)),
)
"""Of the GPUs that code can be compiled for. Source: CUDA 13.0, ptxas, --gpu-name."""

_SPECIFIC = (9, 0)
"""From this capability on there is code for one GPU alone, such as ``sm_90a``.
Source: the same, for ``sm_XYa``."""


def code_names(capability: tuple[int, int]) -> tuple[str, ...]:
    """The targets whose machine code a GPU runs, best first.

    Code of a capability runs on GPUs of the same major number that are not older.
    Source: CUDA C++ Programming Guide, binary compatibility.
    """
    known = {*_CAPABILITIES, capability}
    major, _ = capability
    fit = sorted(row for row in known if row[0] == major and row <= capability)
    own = [f"{_name(capability)}a"] if capability >= _SPECIFIC else []
    return (*own, *(_name(row) for row in reversed(fit)))


def text_names(capability: tuple[int, int]) -> tuple[str, ...]:
    """The targets whose PTX the driver assembles for a GPU, best first."""
    older = sorted((row for row in _CAPABILITIES if row < capability), reverse=True)
    names = (*code_names(capability), *map(_name, older))
    return tuple(dict.fromkeys(names))


def _name(capability: tuple[int, int]) -> str:
    major, minor = capability
    return f"sm_{major}{minor}"
