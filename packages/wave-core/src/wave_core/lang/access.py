"""Surface functions for memory: read, write, allocate."""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.lang.bounds import bounded
from wave_core.lang.mapping import IndexMapping, MappedAccess, no_mapping
from wave_core.lang.types import dims_of
from wave_core.ops.memory import Allocate, GatherToLDS, Read, Write
from wave_core.symbols import symbol
from wave_core.trace.context import active
from wave_core.trace.operands import as_tuple, is_number, not_a_value
from wave_core.trace.value import Value, emit_op
from wave_core.types import AddressSpace, MemoryType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wave_core.diagnostics import Location
    from wave_core.symbols import Expr
    from wave_core.types import AccessMapping, DType


class MemoryAccessFlags(IntFlag):
    """How an access treats caches."""

    NONE = 0
    VOLATILE = 1
    NONTEMPORAL = 2


_ALL_FLAGS = MemoryAccessFlags.VOLATILE | MemoryAccessFlags.NONTEMPORAL


@coded_arguments
def read(  # noqa: PLR0913 - the language's own signature
    memory: Any,
    elements_per_thread: int | None = None,
    mapping: IndexMapping | None = None,
    mapping_dynamic_vals: Sequence[Any] = (),
    bounds: Any = None,
    flags: MemoryAccessFlags = MemoryAccessFlags.NONE,
    *,
    source: Sequence[Any] | None = None,
    target: Sequence[Any] | None = None,
    tag: str | Iterable[str] | None = None,
) -> Value:
    """A tile read from ``memory``; elements beyond its extents are 0.

    Shapes: the memory's dims, or those of the mapping's ``outputs``. Dtypes: the
    memory's.

    Args:
        memory: A kernel argument or an allocation.
        elements_per_thread: How many elements one lane reads at a time.
        mapping: The memory's coordinates as expressions of the register's.
        mapping_dynamic_vals: The index registers of the mapping.
        bounds: For dims of the memory the end of what exists, ``{H: H}``: elements
            whose coordinate is not from 0 up to it read as 0. Dims that only the
            register has bound its index.
        flags: How the access treats caches.
        source: The memory's coordinates over the iterators named in ``target``.
        target: The iterators of the register's dims, bound by ``IteratorBindings``.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0101, WV0202, WV04xx for a mapping or bounds that do not fit.
    """
    location = capture_location()
    mapped, shape, indices = mapping_of(
        memory, mapping, mapping_dynamic_vals, (source, target), location, reading=True
    )
    fields = {
        "memory": memory,
        "indices": indices,
        "mapping": bounded(mapped, memory, bounds, location),
        "shape": shape,
        "elements_per_thread": elements_per_thread,
        "flags": _flag_text(flags, location),
    }
    return emit_op(Read, fields, tag=tag, location=location)


@coded_arguments
def write(  # noqa: PLR0913 - the language's own signature
    register_: Any,
    memory: Any,
    elements_per_thread: int | None = None,
    mapping: IndexMapping | None = None,
    mapping_dynamic_vals: Sequence[Any] = (),
    bounds: Any = None,
    flags: MemoryAccessFlags = MemoryAccessFlags.NONE,
    *,
    source: Sequence[Any] | None = None,
    target: Sequence[Any] | None = None,
    tag: str | Iterable[str] | None = None,
) -> None:
    """Write a tile to ``memory``; elements beyond its extents are skipped.

    Shapes: the register has the memory's dims, or those of the mapping's ``inputs``;
    dims of which one element is held at a time may be missing. Dtypes: the memory's; a
    float becomes another type of float, rounded to nearest even.

    Args:
        register_: The tile.
        memory: A kernel argument or an allocation.
        elements_per_thread: How many elements one lane writes at a time.
        mapping: The memory's coordinates as expressions of the register's.
        mapping_dynamic_vals: The index registers of the mapping.
        bounds: For dims of the memory the end of what exists, ``{H: H}``: elements
            whose coordinate is not from 0 up to it are not written. Dims that only
            the register has bound its index.
        flags: How the access treats caches.
        source: The iterators of the register's dims, bound by ``IteratorBindings``.
        target: The memory's coordinates over the iterators named in ``source``.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0101, WV0202, WV0204, WV0208, WV04xx.
    """
    location = capture_location()
    mapped, _, indices = mapping_of(
        memory, mapping, mapping_dynamic_vals, (source, target), location, reading=False
    )
    fields = {
        "value": register_,
        "memory": memory,
        "indices": indices,
        "mapping": bounded(mapped, memory, bounds, location),
        "elements_per_thread": elements_per_thread,
        "flags": _flag_text(flags, location),
    }
    emit_op(Write, fields, tag=tag, location=location)


@coded_arguments
def allocate(  # noqa: PLR0913 - the language's own signature
    shape: Sequence[Any],
    distributed_shape: Sequence[Any] | None = None,
    dtype: DType | None = None,
    address_space: Any = AddressSpace.SHARED,
    padding: int = 0,
    parent: Any = None,
    offset: Any = None,
    tail_padding: int = 0,
    *,
    tag: str | Iterable[str] | None = None,
) -> Value:
    """A buffer in LDS, one for each workgroup; undefined until written.

    In a thread kernel ``shape`` has the extents, and ``distributed_shape`` is left out:
    ``allocate((16, 17), dtype=f32)``. There the author places the barriers.

    Units: elements.

    Args:
        shape: The logical dims.
        distributed_shape: The extent of each dim in the buffer.
        dtype: The element type.
        address_space: LDS, or a symbol that is bound to it.
        padding: Elements added to each innermost row.
        parent: A buffer in whose bytes this one lies. Views that share bytes may take
            turns: a write through one destroys what another holds there.
        offset: Of a view, the first byte in the parent: a multiple of 16.
        tail_padding: Elements added after the last row.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0101, WV0217, WV0405 for another address space, WV0407 and WV0420
            for a view that does not fit.
    """
    location = capture_location()
    tracer = active("allocate")
    if is_number(address_space):
        named = tracer.expression(address_space, location)
        address_space = tracer.spaces.get(named, named)
    if address_space is not AddressSpace.SHARED:
        raise user_error(
            "WV0405",
            f"`allocate` cannot make a buffer in `{address_space}` memory",
            at=location,
            help="a kernel allocates LDS only: `SHARED_ADDRESS_SPACE`",
        )
    given = shape if distributed_shape is None else distributed_shape
    extents = dims_of("allocate", given, location)
    dims = dims_of("allocate", shape, location)
    if tracer.threads:
        dims = tuple(symbol(tracer.label("$LDS")) for _ in dims)
    elif distributed_shape is None:
        raise _no_extents(location)
    fields = {
        "shape": dims,
        "distributed_shape": extents,
        "dtype": dtype,
        "padding": padding,
        "tail_padding": tail_padding,
        "guarded": not tracer.threads,
    }
    if parent is None and offset is None:
        return emit_op(Allocate, fields, tag=tag, location=location)
    # It asks about the graph, which the language does not load before it is needed.
    from wave_core.lang import views  # noqa: PLC0415

    within = views.parent_of(parent, location)
    fields["offset"] = views.offset_in(within, offset, tracer, location)
    view = emit_op(Allocate, fields, tag=tag, location=location)
    views.check_inside(view, within, tracer)
    return view


def _no_extents(at: Location) -> Exception:
    return user_error(
        "WV0217",
        "`allocate` got no extents",
        at=at,
        label="how much of each dim does a workgroup hold?",
        help="write `allocate((M, N), (BLOCK_M, BLOCK_N), f16)`",
    )


@coded_arguments
def gather_to_lds(
    src: Any,
    dst: Any,
    src_mapping: IndexMapping | None = None,
    elements_per_thread: int | None = None,
    *,
    mapping_dynamic_vals: Sequence[Any] = (),
    tag: str | Iterable[str] | None = None,
) -> None:
    """Copy the tile of ``dst`` from ``src``; what reads it waits for it.

    It is a read and a write; with ``use_global_to_shared`` it goes through no register
    and runs beside what follows, where the target and the layout of the buffer allow.

    Shapes: both memories have the same dims, or those of the mapping. Dtypes: the
    same.

    Args:
        src: A kernel argument.
        dst: An allocation.
        src_mapping: The coordinates of ``src`` as expressions of the indices of
            ``dst``.
        elements_per_thread: How many elements one lane copies at a time.
        mapping_dynamic_vals: Index registers, as `read` takes them.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0101, WV0413, WV04xx for a mapping that does not fit.
    """
    location = capture_location()
    sides = None, None
    mapped, _, indices = mapping_of(
        src, src_mapping, mapping_dynamic_vals, sides, location, reading=True
    )
    fields = {
        "source": src,
        "destination": dst,
        "indices": indices,
        "mapping": mapped,
        "elements_per_thread": elements_per_thread,
    }
    emit_op(GatherToLDS, fields, tag=tag, location=location)


def mapping_of(
    memory: Any,
    mapping: Any,
    indices: Sequence[Any],
    sides: tuple[Sequence[Any] | None, Sequence[Any] | None],
    location: Location,
    *,
    reading: bool,
) -> tuple[AccessMapping | None, tuple[Expr, ...] | None, tuple[Any, ...]]:
    """The mapping of an access, its register's shape, and its index registers."""
    tracer = active("read" if reading else "write")
    found = getattr(getattr(memory, "op", None), "type", None)
    given = as_tuple(indices)
    if sides == (None, None) and mapping is None:
        return None, None, given
    if not isinstance(found, MemoryType):
        raise not_a_value(memory, "`memory`", location)
    access = MappedAccess(tracer, found, location, reading)
    source, target = sides
    if source is not None and target is not None:
        mapping, given = access.mapping_of(as_tuple(source), as_tuple(target))
    if mapping is None:
        raise user_error(
            "WV0404",
            "`source=` and `target=` come together",
            at=location,
            help="give the coordinates of both sides, or `mapping=`",
        )
    if not isinstance(mapping, IndexMapping):
        raise no_mapping(f"`mapping` is {mapping!r}", location)
    return access.resolve(mapping, given)


def _flag_text(flags: object, location: Location) -> str:
    if not isinstance(flags, MemoryAccessFlags) or flags & ~_ALL_FLAGS:
        raise user_error(
            "WV0222",
            f"`flags` is {flags!r}",
            at=location,
            label="given here",
            help="it takes MemoryAccessFlags, joined by `|`",
        )
    names = [flag.name.lower() for flag in flags if flag.name]
    return "|".join(names) or "none"
