"""Random programs as data: dimensions, memories and a list of steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from wave_testing.programs.dims import base_of
from wave_testing.programs.formula import Formula, formula_text


@dataclass(frozen=True)
class Dim:
    """A size symbol, and how its dimension spreads over the machine.

    Units: ``extent``, ``tile`` and ``loop`` count elements.

    Attributes:
        name: The symbol.
        extent: Its value.
        dynamic: Whether the value comes with the launch.
        axis: The grid axis that it is distributed over; ``None`` for none.
        tile: The workgroup's tile, where it is distributed.
        waves: Waves that share the workgroup's tile; 0 gives no wave constraint.
        loop: The tile of a loop over it; ``None`` for no loop.
        vector: The vector shape; ``None`` gives none.
        backwards: Whether workgroups take its tiles from the last to the first.
        copies: Waves on its axis that all do the same; above 1 only where no wave
            constraint splits the tile, and with ``waves_per_block`` given.
        part: The tile of a device, whole tiles of workgroups; 0 for one device.
    """

    name: str
    extent: int
    dynamic: bool = False
    axis: int | None = None
    tile: int = 0
    waves: int = 0
    loop: int | None = None
    vector: int | None = None
    backwards: bool = False
    copies: int = 1
    part: int = 0

    def part_of(self, name: str, parts: int) -> Dim:
        """The dim each of whose elements is so many of these; no tile cuts one."""
        loop = None if self.loop is None else self.loop // parts
        return replace(self, name=name, extent=self.extent // parts, loop=loop)

    @property
    def groups(self) -> int:
        """Workgroups along the dimension, of all devices."""
        return 1 if self.axis is None else -(-self.extent // self.tile)

    @property
    def shared(self) -> int:
        """Waves of a workgroup that share the dimension."""
        return max(1, self.waves)

    @property
    def wave_tile(self) -> int:
        """Elements of one wave's tile outside of loops."""
        return self.extent if self.axis is None else self.tile // self.shared

    @property
    def trips(self) -> int:
        """Iterations of a loop over the dimension."""
        return 0 if self.loop is None else -(-self.wave_tile // self.loop)

    def tile_in(self, *, looped: bool) -> int:
        """Elements of one wave's tile, inside or outside of a loop over it."""
        return self.loop if looped and self.loop is not None else self.wave_tile


@dataclass(frozen=True)
class MemorySpec:
    """A kernel parameter that is a tensor.

    Attributes:
        name: The parameter.
        dims: Names of the size symbols of its axes.
        dtype: The element type by name.
        fill: What it holds before the launch: ``small`` integers up to ``bound``,
            these with some ``special`` numbers or in ``tiny`` units, ``real``
            numbers that are rounded, ``index`` values below ``bound``, a
            ``permutation``, any ``bits``, ``scale`` factors, or nothing.
        bound: See ``fill``.
        strided: Whether it is a view of a larger array.
        updated: Whether the kernel reads and writes it.
    """

    name: str
    dims: tuple[str, ...]
    dtype: str
    fill: str = ""
    bound: int = 0
    strided: bool = False
    updated: bool = False

    @property
    def is_output(self) -> bool:
        """Whether the kernel writes it."""
        return self.updated or not self.fill


@dataclass(frozen=True)
class ScalarSpec:
    """A kernel parameter that is a number; ``bind`` binds the symbol of its name."""

    name: str
    dtype: str
    value: int
    bind: bool = False


@dataclass(frozen=True)
class Step:
    """One statement: ``name = kind(args, attributes)``, with a body where it has one.

    Attributes:
        kind: What it does; see `wave_testing.programs.kernel`.
        name: The value that it defines; several names for loops.
        args: Values that it uses.
        attributes: Everything else, sorted by name.
        body: Statements of a loop or condition.
        params: Names of the carried values inside the body.
        yields: Values that the body gives back.
    """

    kind: str
    name: tuple[str, ...]
    args: tuple[str, ...] = ()
    attributes: tuple[tuple[str, Any], ...] = ()
    body: tuple[Step, ...] = ()
    params: tuple[str, ...] = ()
    yields: tuple[str, ...] = ()

    def get(self, key: str, default: Any = None) -> Any:
        """An attribute."""
        return dict(self.attributes).get(key, default)

    def uses(self) -> Iterator[str]:
        """All names that the step and its body use."""
        yield from self.args
        memories = self.get("memory"), self.get("source")
        yield from (name for name in memories if name is not None)
        yield from self.get("index", ())
        if self.get("register") is not None:
            yield self.get("register")
        for inner in self.body:
            yield from inner.uses()
        yield from self.yields


@dataclass(frozen=True)
class Program:
    """A kernel as data.

    Attributes:
        seed: What the random generator was seeded with.
        dims: All size symbols, those of memories alone included.
        memories: Tensors, in the order of the parameters.
        scalars: Numbers, after the tensors.
        steps: The kernel.
        hardware: Further fields of the hardware constraint.
        reorder: Grid axis and formula of a reordering; ``None`` for none.
        symbolic: Whether tiles are symbols that the launch's bindings give a value.
        tagged: Whether each value carries its name as a tag; passes keep apart what
            is tagged differently.
    """

    seed: int
    dims: tuple[Dim, ...]
    memories: tuple[MemorySpec, ...] = ()
    scalars: tuple[ScalarSpec, ...] = ()
    steps: tuple[Step, ...] = ()
    hardware: tuple[tuple[str, Any], ...] = ()
    reorder: tuple[int, Formula] | None = None
    symbolic: bool = False
    tagged: bool = True

    def dim(self, name: str) -> Dim:
        """A size symbol by name, or a part of one: ``K/32``."""
        base, parts = base_of(name)
        found = next(d for d in self.dims if d.name == base)
        return found if parts == 1 else found.part_of(name, parts)

    def extents(self, names: tuple[str, ...]) -> tuple[int, ...]:
        """The values of size symbols."""
        return tuple(self.dim(name).extent for name in names)

    @property
    def grid(self) -> tuple[int, ...]:
        """Workgroups on each axis."""
        rows = sorted((d.axis, d.groups) for d in self.dims if d.axis is not None)
        return tuple(groups for _, groups in rows) or (1,)

    @property
    def units(self) -> int:
        """Waves of the whole launch."""
        return prod(self.grid) * prod(d.shared * d.copies for d in self.dims)

    def walk(self) -> Iterator[Step]:
        """All steps, those of bodies included."""
        return _walk(self.steps)

    def with_steps(self, steps: tuple[Step, ...]) -> Program:
        """The program with other steps; parameters that nothing uses go."""
        used = {name for step in steps for name in step.uses()}
        memories = tuple(m for m in self.memories if m.name in used)
        return replace(self, steps=steps, memories=memories)

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _walk(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _walk(step.body)


_FORMULAS = ("formula", "condition")


def _lines(program: Program) -> Iterator[str]:
    hardware = "".join(f" {key}={value}" for key, value in program.hardware)
    symbolic = " symbolic tiles" if program.symbolic else ""
    tagged = " tagged" if program.tagged else ""
    yield f"program seed {program.seed}{hardware}{symbolic}{tagged}"
    if program.reorder is not None:
        axis, formula = program.reorder
        yield f"  reorder $WG{axis} = {formula_text(formula)}"
    yield from (f"  dim {_dim_text(dim)}" for dim in program.dims)
    for memory in program.memories:
        kind = f"in {memory.fill} {memory.bound}" if memory.fill else "out"
        kind = f"update{kind[2:]}" if memory.updated else kind
        strided = " strided" if memory.strided else ""
        dims = ", ".join(memory.dims)
        yield f"  {kind} {memory.name}: [{dims}] {memory.dtype}{strided}"
    for scalar in program.scalars:
        kind = "bind" if scalar.bind else "scalar"
        yield f"  {kind} {scalar.name}: {scalar.dtype} = {scalar.value}"
    for step in program.steps:
        yield from _step_lines(step, "  ")


def _dim_text(dim: Dim) -> str:
    parts = (
        (True, f"{dim.name} = {dim.extent}"),
        (dim.dynamic, "dynamic"),
        (dim.axis is not None, f"workgroup axis {dim.axis} tile {dim.tile}"),
        (dim.waves, f"waves {dim.waves}"),
        (dim.loop is not None, f"loop tile {dim.loop}"),
        (dim.copies > 1, f"copied by {dim.copies} waves"),
        (dim.part, f"{dim.part} a device"),
        (dim.backwards, "backwards"),
        (dim.vector is not None, f"vector {dim.vector}"),
    )
    return ", ".join(text for said, text in parts if said)


def _step_lines(step: Step, indent: str) -> Iterator[str]:
    shown = " ".join(
        f"{key}={_value_text(key, value)}"
        for key, value in step.attributes
        if value not in (None, ())
    )
    left = f"{', '.join(step.name)} = " if step.name else ""
    right = " ".join(part for part in (step.kind, *step.args, shown) if part)
    if not step.body:
        yield f"{indent}{left}{right}"
        return
    yield f"{indent}{left}{right} ({', '.join(step.params)}):"
    for inner in step.body:
        yield from _step_lines(inner, indent + "  ")
    yield f"{indent}  yield {', '.join(step.yields)}"


def _value_text(key: str, value: Any) -> str:
    if key in _FORMULAS:
        return formula_text(value)
    if key == "mapping":
        return f"[{', '.join(formula_text(part) for part in value)}]"
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"  # pyright: ignore[reportUnknownArgumentType] - printed
    return str(value)
