"""The dims of what steps make of several values."""

from __future__ import annotations

Dims = tuple[str, ...]


def base_of(name: str) -> tuple[str, int]:
    """The size symbol of a dim, and how many of its elements are one: of ``K/32``."""
    base, _, parts = name.partition("/")
    return base, int(parts or 1)


def merge_dims(first: Dims, second: Dims) -> Dims | None:
    """The union of two lists of dims that keeps both orders, or ``None``.

    Wave's rule: dims of ``first`` come first where there is a choice.
    """
    merged: list[str] = []
    rest = list(second)
    for dim in first:
        if dim in rest:
            place = rest.index(dim)
            ahead = rest[:place]
            if any(other in first for other in ahead):
                return None
            merged += [*ahead, dim]
            rest = rest[place + 1 :]
        elif dim in merged:
            return None
        else:
            merged.append(dim)
    merged += rest
    return tuple(merged) if len(set(merged)) == len(merged) else None


def union_dims(shapes: list[Dims]) -> Dims | None:
    """The dims of an elementwise result; ``None`` where operands clash."""
    merged: Dims | None = ()
    for shape in sorted(shapes, key=len, reverse=True):
        merged = merge_dims(merged, shape)
        if merged is None:
            return None
    return merged
