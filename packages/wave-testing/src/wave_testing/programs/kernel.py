"""A program as a kernel: its steps in the language, inside a traced function."""

# Programs are data of many shapes, and kernels are built from them at run time.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportCallIssue=false
# pyright: reportArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import reduce, wraps
from operator import or_, truediv
from typing import TYPE_CHECKING, Any

import sympy

import wave_core.lang as tkl
from wave_core.types import DTYPES
from wave_testing.programs.dims import base_of
from wave_testing.programs.formula import compute
from wave_testing.programs.kinds import FUNCTIONS, OPERATORS, ROUNDED

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
        last = dim.groups - 1
        start = (lambda group: (last - group) * tile) if dim.backwards else None
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
    dims = _symbols(memory.dims)
    return tkl.Memory[(*dims, tkl.GLOBAL_ADDRESS_SPACE, DTYPES[memory.dtype])]


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
    parts = map(base_of, names)
    return [tkl.index_symbol(name) / number for name, number in parts]


def _leaf(kind: str, name: Any) -> Any:
    if kind == "it":
        return tkl.IndexMapping.iterator(name)
    if kind == "dyn":
        return tkl.IndexMapping.dynamic_val(name)
    return tkl.index_symbol(name)


def _access(scope: _Scope, step: Step) -> dict[str, Any]:
    """The keyword arguments of a read or write."""
    found: dict[str, Any] = {"elements_per_thread": step.get("elements")}
    if step.get("flags"):
        flags = (tkl.MemoryAccessFlags[name] for name in step.get("flags"))
        found["flags"] = reduce(or_, flags)
    mapping = step.get("mapping")
    if mapping is None:
        return found
    memory = scope.values[step.get("memory")]
    dims = step.get("shape")
    register = dict(
        zip(_symbols(dims), (_leaf("it", i) for i in range(len(dims))), strict=True)
    )
    zero = sympy.Integer(0)  # makes an expression of a number
    parts = [zero + compute(part, _leaf) for part in mapping]
    place = dict(zip(_symbols(memory.type.dims), parts, strict=True))
    indices = tuple(scope.values[name] for name in step.get("index", ()))
    rows = [
        {tkl.index_symbol(d): _leaf("it", dims.index(d)) for d in value.type.dims}
        for value in indices
    ]
    sides = (place, register) if step.kind == "read" else (register, place)
    found["mapping"] = tkl.IndexMapping(len(dims), *sides, dynamic_val_mappings=rows)
    found["mapping_dynamic_vals"] = indices
    if step.get("bounds"):
        ends = _symbols(memory.type.dims)
        found["bounds"] = dict(zip(ends, ends, strict=True))
    return found


def _read(scope: _Scope, step: Step) -> Any:
    memory = scope.values[step.get("memory")]
    return tkl.read(memory, **_access(scope, step), tag=scope.tag(step))


def _write(scope: _Scope, step: Step) -> None:
    memory = scope.values[step.get("memory")]
    tkl.write(*scope.args(step), memory, **_access(scope, step))


def _copy(scope: _Scope, step: Step) -> None:
    memories = (scope.values[step.get(name)] for name in ("source", "memory"))
    tkl.gather_to_lds(*memories)


def _atomic(scope: _Scope, step: Step) -> None:
    function = getattr(tkl, f"atomic_{step.get('combine')}")
    memory = scope.values[step.get("memory")]
    function(*scope.args(step), memory, **_access(scope, step))


def _exchange(scope: _Scope, step: Step) -> Any:
    function = getattr(tkl, f"atomic_{step.get('combine')}")
    value, *expected = scope.args(step)
    memory = scope.values[step.get("memory")]
    more = {**_access(scope, step), "scope": step.get("scope"), "tag": scope.tag(step)}
    return function(value, memory, *expected, **more)


def _philox(scope: _Scope, step: Step) -> Any:
    (offset,), word, tag = scope.args(step), step.get("word"), scope.tag(step)
    return tkl.philox(step.get("seed"), offset, word, tag=tag)


def _slice(scope: _Scope, step: Step) -> Any:
    size = tkl.index_symbol(step.get("shape")[-1])
    places = [step.get("offset")], [size], [step.get("stride")]
    return tkl.extract_slice(*scope.args(step), *places, tag=scope.tag(step))


def _split_barrier() -> None:
    tkl.shared_memory_barrier_signal()
    tkl.shared_memory_barrier_wait()


_HINTS: Mapping[str, Callable[[], Any]] = {
    "scheduling": lambda: tkl.scheduling_barrier([]),
    "group": lambda: tkl.scheduling_group_barrier({tkl.Operation.MMA: 1}),
    "priority": lambda: tkl.set_wave_prio(1),
    "wait": lambda: tkl.memory_counter_wait(load=0),
    "workgroup": tkl.workgroup_barrier,
    "split": _split_barrier,
}


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


_REDUCTIONS = {"sum": tkl.sum, "max": tkl.max, "min": tkl.min}


def _reduce(scope: _Scope, step: Step) -> Any:
    values = scope.args(step)
    count = step.get("sources")
    acc = values[count] if len(values) > count else step.get("acc")
    source = values[0] if count == 1 else values[:count]
    dim = tkl.index_symbol(step.get("dim"))
    return _REDUCTIONS[step.get("combine")](source, acc, dim=dim, tag=scope.tag(step))


def _scan(scope: _Scope, step: Step) -> Any:
    (value,), tag = scope.args(step), scope.tag(step)
    dim = tkl.index_symbol(step.get("dim"))
    reverse, kind = step.get("reverse"), step.get("combine")
    if kind == "sum":
        exclusive = step.get("exclusive")
        return tkl.cumsum(value, dim=dim, exclusive=exclusive, reverse=reverse, tag=tag)
    function = {"max": tkl.maximum, "min": tkl.minimum}[kind]
    return tkl.scan(function, value, dim, reverse=reverse, tag=tag)


def _total(scope: _Scope, step: Step) -> Any:
    dims, combine = _symbols(step.get("over")), _REDUCTIONS[step.get("combine")]
    return combine(*scope.args(step), dim=dims, tag=scope.tag(step))


def _in_order(scope: _Scope, step: Step) -> Any:
    """The values that a sort or selection gives, or their places."""
    (value,), tag = scope.args(step), scope.tag(step)
    dim, k = tkl.index_symbol(step.get("dim")), step.get("k")
    if k is None:
        found = tkl.sort(value, dim, step.get("descending"), tag=tag)
    else:
        found = tkl.topk(value, tkl.index_symbol(k), dim, tag=tag)
    return found[1 if step.get("dtype") else 0]


def _apply(scope: _Scope, step: Step) -> Any:
    def expr(*arguments: Any) -> Any:
        return compute(
            step.get("formula"),
            lambda kind, name: (
                arguments[name] if kind == "arg" else tkl.index_symbol(name)
            ),
        )

    return tkl.apply_expr(scope.args(step), expr, tag=scope.tag(step))


def _iterate(scope: _Scope, step: Step) -> Any:
    axis = tkl.index_symbol(step.get("axis"))
    inits = scope.args(step)
    start, stride = step.get("start"), step.get("step", 1)
    body = scope.body(step)
    if not step.get("while"):
        return tkl.iterate(axis, inits, step=stride, start=start)(body)
    (dim,) = (d for d in scope.program.dims if d.name == step.get("axis"))

    @wraps(body)
    def moving(*carried: Any) -> Any:
        found = body(*carried)
        tkl.set_symbol(axis, axis + stride)
        return found

    condition = axis < dim.trips
    return tkl.iterate(axis, inits, start=start, condition=condition)(moving)


def _conditional(scope: _Scope, step: Step) -> Any:
    register = step.get("register")
    if register is None:
        condition = compute(step.get("condition"), _leaf)
    else:
        condition = scope.values[register]
    others = tuple(scope.args(step)) or None
    return tkl.conditional(condition, others)(scope.body(step))


def _offset(offset: int | str) -> Any:
    return tkl.index_symbol(offset) if isinstance(offset, str) else offset


_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "dim": tkl.index_symbol,
    "dtype": DTYPES.__getitem__,
    "offset": _offset,
    "shape": _symbols,
    "value": lambda value: value,
    "instruction": lambda name: name,
}
"""How the language takes the attributes of steps."""


def _called(function: Callable[..., Any], *names: str) -> Surface:
    """A function of the language that takes the values, then these attributes."""

    def surface(scope: _Scope, step: Step) -> Any:
        forms = [_FORMS[name](step.get(name)) for name in names]
        return function(*scope.args(step), *forms, tag=scope.tag(step))

    return surface


def _allocate(scope: _Scope, step: Step) -> Any:
    shape, held = _symbols(step.get("shape")), step.get("held")
    dtype, padding = DTYPES[step.get("dtype")], step.get("padding", 0)
    return tkl.allocate(shape, held, dtype, padding=padding, tag=scope.tag(step))


def _set_symbol(scope: _Scope, step: Step) -> None:
    tkl.set_symbol(tkl.index_symbol(step.get("symbol")), *scope.args(step))


SURFACE: Mapping[str, Surface] = {
    "read": _read,
    "write": _write,
    "copy": _copy,
    "splat": _called(tkl.register, "shape", "dtype", "value"),
    "self_index": _called(tkl.self_index, "dim", "dtype"),
    "cast": _called(tkl.cast, "dtype"),
    "broadcast": _called(tkl.broadcast, "shape"),
    "permute": _called(tkl.permute, "shape"),
    "reduce": _reduce,
    "scan": _scan,
    "total": _total,
    "sort": _in_order,
    "topk": _in_order,
    "argmax": _called(tkl.argmax, "dim"),
    "argmin": _called(tkl.argmin, "dim"),
    "atomic": _atomic,
    "exchange": _exchange,
    "bitcast": _called(tkl.bitcast, "dtype"),
    "philox": _philox,
    "slice": _slice,
    "hint": lambda _scope, step: _HINTS[step.get("form")](),
    "apply": _apply,
    "extract": _called(tkl.extract, "offset"),
    "mma": _called(tkl.mma, "instruction"),
    "scaled": _called(tkl.scaled_mma),
    "iterate": _iterate,
    "conditional": _conditional,
    "set_symbol": _set_symbol,
    "allocate": _allocate,
    "barrier": lambda _scope, _step: tkl.shared_memory_barrier(),
    **{kind: _elementwise(function) for kind, function in OPERATORS.items()},
    **{kind: _elementwise(getattr(tkl, kind)) for kind in FUNCTIONS},
    **{kind: _elementwise(getattr(tkl, kind, truediv)) for kind in ROUNDED},
}
