"""A program as a kernel: its steps in the language, inside a traced function."""

# Programs are data of many shapes, and kernels are built from them at run time.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportCallIssue=false
# pyright: reportArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import sympy

import wave_core.lang as tkl
from wave_core.types import DTYPES
from wave_testing.programs.formula import compute
from wave_testing.programs.kinds import FUNCTIONS, OPERATORS

if TYPE_CHECKING:
    from wave_core.lang import LaunchableWave
    from wave_testing.programs.model import Dim, Program, Step


def program_kernel(program: Program) -> LaunchableWave:
    """The kernel that a program describes; tracing it runs the steps."""

    def kernel(*arguments: Any) -> None:
        names = [p.name for p in (*program.memories, *program.scalars)]
        scope = _Scope(program)
        scope.values |= dict(zip(names, arguments, strict=True))
        scope.run(program.steps)

    parameters = {memory.name: _memory(memory) for memory in program.memories}
    for scalar in program.scalars:
        dtype = DTYPES[scalar.dtype]
        parameters[scalar.name] = tkl.SymbolBind[dtype] if scalar.bind else dtype
    _declare(kernel, parameters)
    return tkl.wave(constraints(program))(kernel)


def constraints(program: Program) -> list[Any]:
    """The constraints of a program, the hardware's first."""
    vector = {
        tkl.index_symbol(d.name): d.vector for d in program.dims if d.vector is not None
    }
    hardware = dict(program.hardware)
    if vector:
        hardware["vector_shapes"] = vector
    rows: list[Any] = [tkl.HardwareConstraint(**hardware)]
    for dim in program.dims:
        rows += _distribution(dim, symbolic=program.symbolic)
    if program.reorder is not None:
        axis, formula = program.reorder
        expr = compute(formula, lambda _, name: tkl.index_symbol(name))
        rows.append(tkl.ReorderingConstraint(expr, axis))
    return rows


def _distribution(dim: Dim, *, symbolic: bool) -> list[Any]:
    name = tkl.index_symbol(dim.name)
    rows: list[Any] = []
    tile = tkl.index_symbol(tile_symbol(dim)) if symbolic else dim.tile
    if dim.axis is not None:
        start = None
        if dim.backwards:
            start = _backwards(dim.groups, tile)
        if dim.part:
            rows.append(tkl.DeviceConstraint(name, dim.part, dim.axis))
        rows.append(tkl.WorkgroupConstraint(name, tile, dim.axis, apply_fn=start))
    if dim.waves:
        rows.append(
            tkl.WaveConstraint(
                name, tile / dim.waves if symbolic else dim.tile // dim.waves
            )
        )
    if dim.loop is not None:
        rows.append(tkl.TilingConstraint(name, dim.loop))
    return rows


def _backwards(groups: int, tile: Any) -> Callable[[Any], Any]:
    return lambda group: (groups - 1 - group) * tile


def tile_symbol(dim: Dim) -> str:
    """The symbol of a dimension's workgroup tile."""
    return f"BLOCK_{dim.name}"


def bindings(program: Program) -> dict[str, int]:
    """Values of the symbols that are known at compile time."""
    found = {d.name: d.extent for d in program.dims if not d.dynamic}
    if program.symbolic:
        found |= {tile_symbol(d): d.tile for d in program.dims if d.axis is not None}
    return found


def _memory(memory: Any) -> Any:
    dims = tuple(tkl.index_symbol(name) for name in memory.dims)
    return tkl.Memory[(*dims, tkl.GLOBAL_ADDRESS_SPACE, DTYPES[memory.dtype])]


def _as_sympy(value: Any) -> Any:
    """A number or a sympy expression, as an expression."""
    return sympy.Integer(value) if isinstance(value, int) else value


def _declare(function: Callable[..., Any], parameters: Mapping[str, Any]) -> None:
    """Give a function of ``*arguments`` named and annotated parameters."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    rows = [inspect.Parameter(name, kind) for name in parameters]
    function.__signature__ = inspect.Signature(rows)
    function.__annotations__ = dict(parameters)


class _Scope:
    """The values that are in scope while steps are traced."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.values: dict[str, Any] = {}

    def run(self, steps: tuple[Step, ...]) -> None:
        """Trace some steps."""
        for step in steps:
            results = SURFACE[step.kind](self, step)
            if len(step.name) == 1:
                self.values[step.name[0]] = results
            elif step.name:
                self.values |= dict(zip(step.name, results, strict=True))

    def tag(self, step: Step) -> str | None:
        """The tag of what a step makes."""
        return step.name[0] if self.program.tagged else None

    def args(self, step: Step) -> list[Any]:
        """The values that a step uses."""
        return [self.values[name] for name in step.args]

    def body(self, step: Step) -> Callable[..., Any]:
        """The function that traces the body of a step."""

        def body(*carried: Any) -> Any:
            self.values |= dict(zip(step.params, carried, strict=True))
            self.run(step.body)
            found = tuple(self.values[name] for name in step.yields)
            return found if len(found) != 1 else found[0]

        _declare(body, dict.fromkeys(step.params, None))
        body.__annotations__ = {}
        return body


Surface = Callable[[_Scope, "Step"], Any]


def _symbols(names: tuple[str, ...]) -> list[Any]:
    return [tkl.index_symbol(name) for name in names]


def _leaf(kind: str, name: Any) -> Any:
    if kind == "it":
        return tkl.IndexMapping.iterator(name)
    if kind == "dyn":
        return tkl.IndexMapping.dynamic_val(name)
    return tkl.index_symbol(name)


def _access(scope: _Scope, step: Step) -> dict[str, Any]:
    """The keyword arguments of a read or write."""
    found: dict[str, Any] = {"elements_per_thread": step.get("elements")}
    mapping = step.get("mapping")
    if mapping is None:
        return found
    memory = scope.values[step.get("memory")]
    dims = step.get("shape")
    register = dict(
        zip(_symbols(dims), (_leaf("it", i) for i in range(len(dims))), strict=True)
    )
    parts = [_as_sympy(compute(part, _leaf)) for part in mapping]
    place = dict(zip(_symbols(memory.type.dims), parts, strict=True))
    indices = tuple(scope.values[name] for name in step.get("index", ()))
    rows = [
        {tkl.index_symbol(d): _leaf("it", dims.index(d)) for d in value.type.dims}
        for value in indices
    ]
    sides = (place, register) if step.kind == "read" else (register, place)
    found["mapping"] = tkl.IndexMapping(len(dims), *sides, dynamic_val_mappings=rows)
    found["mapping_dynamic_vals"] = indices
    return found


def _read(scope: _Scope, step: Step) -> Any:
    memory = scope.values[step.get("memory")]
    return tkl.read(memory, **_access(scope, step), tag=scope.tag(step))


def _write(scope: _Scope, step: Step) -> None:
    memory = scope.values[step.get("memory")]
    tkl.write(*scope.args(step), memory, **_access(scope, step))


def _splat(scope: _Scope, step: Step) -> Any:
    dtype = DTYPES[step.get("dtype")]
    return tkl.register(
        _symbols(step.get("shape")), dtype, step.get("value"), tag=scope.tag(step)
    )


def _self_index(scope: _Scope, step: Step) -> Any:
    dim = tkl.index_symbol(step.get("dim"))
    return tkl.self_index(dim, DTYPES[step.get("dtype")], tag=scope.tag(step))


def _elementwise(function: Callable[..., Any]) -> Surface:
    def surface(scope: _Scope, step: Step) -> Any:
        values = scope.args(step)
        number = step.get("number")
        if number is not None:
            values.append(number)
        if step.get("reflected"):
            values.reverse()
        result, tag = function(*values), scope.tag(step)
        return result if tag is None else tkl.tag(result, tag)

    return surface


def _cast(scope: _Scope, step: Step) -> Any:
    return tkl.cast(*scope.args(step), DTYPES[step.get("dtype")], tag=scope.tag(step))


def _reshaped(function: Callable[..., Any]) -> Surface:
    def surface(scope: _Scope, step: Step) -> Any:
        shape = _symbols(step.get("shape"))
        return function(*scope.args(step), shape, tag=scope.tag(step))

    return surface


_REDUCTIONS = {"sum": tkl.sum, "max": tkl.max, "min": tkl.min}


def _reduce(scope: _Scope, step: Step) -> Any:
    values = scope.args(step)
    count = step.get("sources")
    acc = values[count] if len(values) > count else step.get("acc")
    source = values[0] if count == 1 else values[:count]
    dim = tkl.index_symbol(step.get("dim"))
    return _REDUCTIONS[step.get("combine")](source, acc, dim=dim, tag=scope.tag(step))


def _apply(scope: _Scope, step: Step) -> Any:
    def expr(*arguments: Any) -> Any:
        return compute(
            step.get("formula"),
            lambda kind, name: (
                arguments[name] if kind == "arg" else tkl.index_symbol(name)
            ),
        )

    return tkl.apply_expr(scope.args(step), expr, tag=scope.tag(step))


def _extract(scope: _Scope, step: Step) -> Any:
    offset = step.get("offset")
    if isinstance(offset, str):
        offset = tkl.index_symbol(offset)
    return tkl.extract(*scope.args(step), offset, tag=scope.tag(step))


def _mma(scope: _Scope, step: Step) -> Any:
    return tkl.mma(*scope.args(step), step.get("instruction"), tag=scope.tag(step))


def _iterate(scope: _Scope, step: Step) -> Any:
    axis = tkl.index_symbol(step.get("axis"))
    inits = scope.args(step)
    start, stride = step.get("start"), step.get("step", 1)
    return tkl.iterate(axis, inits, step=stride, start=start)(scope.body(step))


def _conditional(scope: _Scope, step: Step) -> Any:
    register = step.get("register")
    if register is None:
        condition = compute(step.get("condition"), _leaf)
    else:
        condition = scope.values[register]
    others = tuple(scope.args(step)) or None
    return tkl.conditional(condition, others)(scope.body(step))


def _set_symbol(scope: _Scope, step: Step) -> None:
    tkl.set_symbol(tkl.index_symbol(step.get("symbol")), *scope.args(step))


def _allocate(scope: _Scope, step: Step) -> Any:
    shape, held = _symbols(step.get("shape")), step.get("held")
    dtype = DTYPES[step.get("dtype")]
    padding = step.get("padding", 0)
    return tkl.allocate(shape, held, dtype, padding=padding, tag=scope.tag(step))


def _barrier(scope: _Scope, step: Step) -> None:
    del scope, step
    tkl.shared_memory_barrier()


SURFACE: Mapping[str, Surface] = {
    "read": _read,
    "write": _write,
    "splat": _splat,
    "self_index": _self_index,
    "cast": _cast,
    "broadcast": _reshaped(tkl.broadcast),
    "permute": _reshaped(tkl.permute),
    "reduce": _reduce,
    "apply": _apply,
    "extract": _extract,
    "mma": _mma,
    "iterate": _iterate,
    "conditional": _conditional,
    "set_symbol": _set_symbol,
    "allocate": _allocate,
    "barrier": _barrier,
    **{kind: _elementwise(function) for kind, function in OPERATORS.items()},
    **{kind: _elementwise(getattr(tkl, kind)) for kind in FUNCTIONS},
}
