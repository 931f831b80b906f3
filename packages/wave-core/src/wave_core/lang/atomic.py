"""Surface functions for updates of memory in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.lang.access import mapping_of
from wave_core.lang.bounds import bounded
from wave_core.lang.synchronize import fence, one_of
from wave_core.lang.threads import Place
from wave_core.ops import atomic, sync
from wave_core.trace.context import active
from wave_core.trace.value import Value, emit_op
from wave_core.types import AccessMapping, MemoryType, dynamic_symbol, iterator_symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wave_core.diagnostics import Location
    from wave_core.lang.mapping import IndexMapping

_ARGUMENTS = """

Args:
    lhs: The register.
    rhs: The memory: a kernel argument or an allocation.
    elements_per_thread: Consecutive elements of one lane; chosen by default.
    mapping: The memory's coordinates as expressions of the register's.
    mapping_dynamic_vals: The index registers of the mapping.
    scope: Who sees it as one step: ``workgroup``, ``device`` or ``system``.
    order: ``relaxed``, or the `fence` beside it: ``release`` before it, ``acquire``
        after it, ``acq_rel`` on both sides.
    at: In code of single threads, the coordinates of each thread's element.
    bounds: For dims of the memory the end of what exists, ``{H: H}``: elements
        whose coordinate is not from 0 up to it are left out, and give 0.
    tag: Names that schedules use to find the op.

Returns:
    What the memory held before, as a register like ``lhs``.

Raises:
    UserError: WV0101, WV0202, WV0204, WV0208, WV0222, WV0234, WV0308, WV04xx.
"""


class Update(Protocol):
    """A surface function that updates memory."""

    def __call__(  # noqa: PLR0913 - the language's own signature
        self,
        lhs: Any,
        rhs: Any,
        elements_per_thread: int | None = None,
        mapping: IndexMapping | None = None,
        mapping_dynamic_vals: Sequence[Any] = (),
        *,
        scope: str = "device",
        order: str = "relaxed",
        at: Any = None,
        bounds: Any = None,
        tag: str | Iterable[str] | None = None,
    ) -> Value:
        """Combine the elements of ``rhs`` with those of ``lhs``, each in one step."""
        ...


def _update(cls: type[atomic.Atomic]) -> Update:
    """The function that emits ``cls``."""

    def function(  # noqa: PLR0913 - the language's own signature
        lhs: Any,
        rhs: Any,
        elements_per_thread: int | None = None,
        mapping: IndexMapping | None = None,
        mapping_dynamic_vals: Sequence[Any] = (),
        *,
        scope: str = "device",
        order: str = "relaxed",
        at: Any = None,
        bounds: Any = None,
        tag: str | Iterable[str] | None = None,
    ) -> Value:
        location = capture_location()
        fields = {
            "value": lhs,
            "memory": rhs,
            "elements_per_thread": elements_per_thread,
            "scope": one_of("scope", scope, sync.SCOPES, location),
        }
        given = mapping, mapping_dynamic_vals, at
        place = _place(cls.op_name, fields, given, location)
        place["mapping"] = bounded(place["mapping"], rhs, bounds, location)
        return _ordered(cls, fields | place, order, tag, location)

    function.__name__ = function.__qualname__ = cls.op_name
    function.__doc__ = (cls.__doc__ or "").strip() + _ARGUMENTS
    return coded_arguments(function)


atomic_add = _update(atomic.AtomicAdd)
atomic_min = _update(atomic.AtomicMin)
atomic_max = _update(atomic.AtomicMax)
atomic_and = _update(atomic.AtomicAnd)
atomic_or = _update(atomic.AtomicOr)
atomic_xor = _update(atomic.AtomicXor)
atomic_xchg = _update(atomic.AtomicXchg)


@coded_arguments
def atomic_cas(  # noqa: PLR0913 - the language's own signature
    lhs: Any,
    rhs: Any,
    expected: Any,
    elements_per_thread: int | None = None,
    mapping: IndexMapping | None = None,
    mapping_dynamic_vals: Sequence[Any] = (),
    *,
    scope: str = "device",
    order: str = "relaxed",
    at: Any = None,
    bounds: Any = None,
    tag: str | Iterable[str] | None = None,
) -> Value:
    """Put ``lhs`` where ``rhs`` holds ``expected``, each element in one step.

    ``expected`` is a register like ``lhs``; the other arguments, what is returned and
    what is raised are those of `atomic_add`.
    """
    location = capture_location()
    fields = {
        "value": lhs,
        "memory": rhs,
        "expected": expected,
        "elements_per_thread": elements_per_thread,
        "scope": one_of("scope", scope, sync.SCOPES, location),
    }
    given = mapping, mapping_dynamic_vals, at
    place = _place("atomic_cas", fields, given, location)
    place["mapping"] = bounded(place["mapping"], rhs, bounds, location)
    return _ordered(atomic.AtomicCas, fields | place, order, tag, location)


def _ordered(
    cls: type[atomic.Atomic],
    fields: dict[str, Any],
    order: str,
    tag: str | Iterable[str] | None,
    at: Location,
) -> Value:
    """The update, with the fences that its order asks for."""
    one_of("order", order, ("relaxed", *sync.ORDERS), at)
    if order in ("release", "acq_rel"):
        fence("release", fields["scope"])
    value = emit_op(cls, fields, tag=tag, location=at)
    if order in ("acquire", "acq_rel"):
        fence("acquire", fields["scope"])
    return value


def _place(
    name: str,
    fields: dict[str, Any],
    given: tuple[IndexMapping | None, Sequence[Any], Any],
    at: Location,
) -> dict[str, Any]:
    """The fields that say which elements of the memory are updated.

    ``given`` has the mapping, its index registers, and the coordinates of single
    threads, for which operands have one element each.
    """
    memory, (mapping, indices, coordinates) = fields["memory"], given
    if coordinates is None and not active(name).threads:
        found = mapping_of(memory, mapping, indices, (None, None), at, reading=False)
        return {"mapping": found[0], "indices": found[2]}
    place = Place(name, memory, coordinates, at)
    own = {
        key: place.value(fields[key]) for key in ("value", "expected") if key in fields
    }
    return {**own, **place.fields()}


@coded_arguments
def scatter_add(
    register_src: Any,
    register_idx: Any,
    dim: Any,
    memory: Any,
    mapping: IndexMapping | None = None,
    elements_per_thread: int = 1,
    bounds: Any = None,
    *,
    tag: str | Iterable[str] | None = None,
) -> None:
    """Add elements to a memory at the positions along ``dim`` that a register gives.

    Several elements may go to one place; all of them count.

    Args:
        register_src: What is added.
        register_idx: Where along ``dim``: integers, on dims of ``register_src``.
        dim: A dim of the memory, or its number.
        memory: A kernel argument or an allocation.
        mapping: The memory's coordinates as expressions of the register's, by name if
            there is none; that along ``dim`` is replaced.
        elements_per_thread: Consecutive elements of one lane.
        bounds: For dims of the memory the end of what exists; elements whose
            coordinate is not from 0 up to it are left out.
        tag: Names that schedules use to find the op.

    Raises:
        UserError: WV0101, WV0202, WV0204, WV0234, WV0401, WV04xx.
    """
    location = capture_location()
    given, *_ = mapping_of(memory, mapping, (), (None, None), location, reading=False)
    place = memory, dim
    mapped = _scattered(register_src, register_idx, place, given, location)
    if mapped is not None:
        mapped = bounded(mapped, memory, bounds, location)
    fields = {
        "value": register_src,
        "memory": memory,
        "indices": (register_idx,),
        "mapping": mapped,
        "elements_per_thread": elements_per_thread,
    }
    emit_op(atomic.AtomicAdd, fields, tag=tag, location=location)


def _scattered(
    register: Any,
    index: Any,
    place: tuple[Any, Any],
    given: AccessMapping | None,
    at: Location,
) -> AccessMapping | None:
    """The mapping with the index register along a dim; ``place`` is memory and dim.

    ``None`` for what is no memory or register, or does not fit, which the op refuses.
    """
    memory, dim = place
    found = getattr(getattr(memory, "op", None), "type", None)
    if not isinstance(found, MemoryType) or not isinstance(index, Value):
        return None
    position = _position(found, dim, at)
    if given is None:
        given = _by_name(register, found, position)
    if given is None:
        return None
    coordinates = list(given.coordinates)
    coordinates[position] = dynamic_symbol(0)
    return AccessMapping(given.register_dims, tuple(coordinates), (index.type.dims,))


def _by_name(register: Any, memory: MemoryType, position: int) -> AccessMapping | None:
    """Coordinates by the dims of the register, those at ``position`` left open."""
    if not isinstance(register, Value):
        return None
    dims = register.type.dims
    open_ = memory.dims[position]
    if not {*memory.dims} - {open_} <= {*dims}:
        return None
    coordinates = tuple(
        dynamic_symbol(0) if dim == open_ else iterator_symbol(dims.index(dim))
        for dim in memory.dims
    )
    return AccessMapping(dims, coordinates)


def _position(memory: MemoryType, dim: Any, at: Location) -> int:
    names = memory.dims
    if type(dim) is int and -len(names) <= dim < len(names):
        return dim
    if str(dim) in names:
        return names.index(str(dim))
    raise user_error(
        "WV0401",
        f"`scatter_add` along `{dim}` of a memory with dims [{', '.join(names)}]",
        at=at,
        label=f"updates {memory}",
        help="`dim` is one of the memory's dims, or its number",
    )
