"""Builds a program step by step; refuses steps that are not exact or too large."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from wave_testing.programs.dims import base_of, union_dims
from wave_testing.programs.exact import Info, elementwise
from wave_testing.programs.literal import step
from wave_testing.programs.model import Dim, MemorySpec, Program, ScalarSpec, Step

if TYPE_CHECKING:
    import numpy as np

    from wave_testing.programs.space import Space

MAX_TILE = 1024
"""Elements of one wave's tile of a value: 16 in each lane."""

MAX_ELEMENTS = 40_000
"""Elements of a whole value or memory."""


@dataclass
class Scope:
    """The body that steps are being added to.

    Attributes:
        axis: The dimension that it loops over; ``""`` for none.
        values: What it defines.
        steps: Its statements.
    """

    axis: str = ""
    values: dict[str, Info] = field(default_factory=dict[str, Info])
    steps: list[Step] = field(default_factory=list[Step])


class Builder:
    """The program under construction.

    Attributes:
        rng: Where chances come from.
        space: The dimensions.
        scopes: The bodies around the next step, the kernel's first.
    """

    def __init__(
        self, rng: np.random.Generator, space: Space, max_tile: int = MAX_TILE
    ) -> None:
        """Start with an empty kernel; ``max_tile`` elements of a value in a wave."""
        self.rng = rng
        self.space = space
        self._max_tile = max_tile
        self.scopes = [Scope()]
        self.sizes: list[Dim] = []
        """Size symbols of memories alone."""
        self.memories: list[MemorySpec] = []
        self.scalars: list[ScalarSpec] = []
        self.symbols: dict[str, int] = {}
        """Symbols of values that formulas may use, with the most they can be."""
        self._count = 0
        self._home = space.pick(("f32", "f32", "f16", "i32", "f64", "bf16"))

    def dtype(self, choices: tuple[str, ...]) -> str:
        """An element type, often the one that the program prefers."""
        return self._home if self.space.chance(0.6) else self.space.pick(choices)

    def fresh(self, prefix: str) -> str:
        """A name that nothing has."""
        self._count += 1
        return f"{prefix}{self._count}"

    def dim(self, name: str) -> Dim:
        """A dimension or size symbol, or a part of one."""
        base, parts = base_of(name)
        found = self.space.dims.get(base)
        if parts > 1 and found is not None:
            return found.part_of(name, parts)
        return found or next(d for d in self.sizes if d.name == name)

    @property
    def loops(self) -> set[str]:
        """The dimensions that loops around walk."""
        return {scope.axis for scope in self.scopes if scope.axis}

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions that values may have here."""
        looped = self.loops
        return tuple(
            d.name
            for d in self.space.dims.values()
            if d.axis is not None or d.loop is None or d.name in looped
        )

    def tile(self, dims: tuple[str, ...]) -> int:
        """Elements of one wave's tile of a value here."""
        tiles = (self.dim(d).tile_in(looped=base_of(d)[0] in self.loops) for d in dims)
        return prod(max(1, tile) for tile in tiles)

    def elements(self, dims: tuple[str, ...]) -> int:
        """Elements of a whole value."""
        return prod(max(1, self.dim(d).extent) for d in dims)

    def fits(self, dims: tuple[str, ...]) -> bool:
        """Whether a value over these dims is small enough here."""
        steps = self.tile(dims)
        for name in dims:
            vector = self.dim(name).vector
            if vector is not None and vector <= 1:
                steps *= 4
        return steps <= self._max_tile and self.elements(dims) <= MAX_ELEMENTS

    def visible(self) -> list[tuple[str, Info]]:
        """Values that may be used here: none with a dim that a loop narrowed since."""
        found: list[tuple[str, Info]] = []
        for depth, scope in enumerate(self.scopes):
            inner = {s.axis for s in self.scopes[depth + 1 :]}
            found += [
                (name, info)
                for name, info in scope.values.items()
                if not inner & set(info.dims)
            ]
        return found

    def numbers(self) -> list[tuple[str, Info]]:
        """Visible values that are no truth values."""
        return [row for row in self.visible() if row[1].dtype != "bool"]

    def info(self, name: str) -> Info:
        """The known limits of a value."""
        return next(s.values[name] for s in self.scopes if name in s.values)

    def emit(
        self, kind: str, info: Info | None, args: tuple[str, ...] = (), **fields: Any
    ) -> str | None:
        """Add a step with one value; ``None`` where it is not exact or too large."""
        if info is None or not info.exact or not self.fits(info.dims):
            return None
        name = self.fresh("v")
        self.add(step(kind, name, *args, **fields))
        self.scopes[-1].values[name] = info
        return name

    def add(self, made: Step) -> None:
        """Add a step as it is."""
        self.scopes[-1].steps.append(made)

    def program(self, seed: int, *, tagged: float, matrices: bool = True) -> Program:
        """The program built so far, with random hardware and order of workgroups.

        Args:
            seed: What the generator was seeded with.
            tagged: The chance that values carry their names.
            matrices: Whether the hardware may name a matrix instruction.
        """
        space = self.space
        hardware = space.hardware()
        return Program(
            seed,
            (*space.dims.values(), *self.sizes),
            tuple(self.memories),
            tuple(self.scalars),
            tuple(self.scopes[0].steps),
            tuple(row for row in hardware if matrices or row[0] != "mma_type"),
            space.reordering(),
            symbolic=space.chance(0.3),
            tagged=space.chance(tagged),
        )

    def pointwise(
        self, kind: str, args: tuple[str, ...], number: Any = None, **fields: Any
    ) -> str | None:
        """Add an elementwise step, operands permuted where their dims clash."""
        aligned = self.aligned(args)
        parts = [self.info(name) for name in aligned]
        dims = union_dims([part.dims for part in parts])
        if dims is None:
            return None
        if number is not None:
            parts.append(Info((), parts[0].dtype, abs(int(number))))
            fields["number"] = number
        if kind == "select":
            both = Info((), "bool", 1)
            chosen = elementwise("maximum", dims, parts[1:] or [both])
            return self.emit(kind, chosen, aligned, **fields)
        return self.emit(kind, elementwise(kind, dims, parts), aligned, **fields)

    def aligned(self, args: tuple[str, ...]) -> tuple[str, ...]:
        """The operands, later ones permuted where their dims clash."""
        if union_dims([self.info(name).dims for name in args]) is not None:
            return args
        order = union_dims([self.info(args[0]).dims])
        assert order is not None, "one value cannot clash"
        rest = {d for name in args[1:] for d in self.info(name).dims} - set(order)
        wanted = (*order, *sorted(rest))
        return (args[0], *(self.ordered(name, wanted) for name in args[1:]))

    def ordered(self, name: str, wanted: tuple[str, ...]) -> str:
        """A value with its dims in the order that they have in ``wanted``."""
        info = self.info(name)
        dims = tuple(d for d in wanted if d in info.dims)
        if dims == info.dims:
            return name
        found = self.emit("permute", info.over(dims), (name,), shape=dims)
        assert found is not None, "a permutation is as large as its operand"
        return found

    def memory(
        self, dims: tuple[str, ...], dtype: str, fill: str = "", bound: int = 0
    ) -> str:
        """A new tensor parameter."""
        name = self.fresh("in" if fill else "out")
        strided = self.space.chance(0.1)
        self.memories.append(MemorySpec(name, dims, dtype, fill, bound, strided))
        return name

    def size(self, extent: int) -> str:
        """A size symbol of a memory alone."""
        name = self.fresh("S")
        self.sizes.append(Dim(name, extent, dynamic=self.space.chance(0.25)))
        return name

    def shuffled(self, items: Any) -> tuple[Any, ...]:
        """The items in random order."""
        items = list(items)
        return tuple(items[i] for i in self.rng.permutation(len(items)))

    def subset(self, items: Any, most: int) -> tuple[Any, ...]:
        """At least one of the items, at most ``most``, in random order."""
        items = self.shuffled(items)
        return items[: int(self.rng.integers(1, most + 1))]
