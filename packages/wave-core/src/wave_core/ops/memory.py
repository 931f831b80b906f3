"""Ops that touch memory."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.attributes import MOST
from wave_core.ops.base import Op, attribute, operand, variadic
from wave_core.ops.traits import Effect, EffectKind, Trait
from wave_core.types import (
    AddressSpace,
    BufferLayout,
    MemoryType,
    RegisterType,
    dim_name,
)

if TYPE_CHECKING:
    from wave_core.ops.atomic import Atomic
    from wave_core.symbols import Expr
    from wave_core.types import AccessMapping, DType

ACCESS_FLAGS = "none, or volatile and nontemporal joined by |"
"""How the text of flags is made."""


class _Access(Op):
    """A read or write, whose flags say more of how it is done.

    One that is volatile is done just as often as the kernel says, at its place in the
    order of what the author ordered.
    """

    @property
    def is_volatile(self) -> bool:
        """Whether it is never dropped, repeated, merged or moved."""
        return "volatile" in self.attributes["flags"]

    def has(self, trait: Trait) -> bool:
        """Whether the op has ``trait``: volatile ones are ordered, and not flexible."""
        if self.is_volatile and trait in (Trait.ORDERED, Trait.FLEXIBLE):
            return trait is Trait.ORDERED
        return super().has(trait)


class Allocate(Op, name="allocate"):
    """A buffer in LDS, one for each workgroup.

    Shapes: ``shape`` is logical; ``distributed_shape`` is what the workgroup
    stores, and ``padding`` lengthens its innermost rows,
    ``tail_padding`` the whole. Dtypes: ``dtype``. Units:
    elements; ``offset`` in bytes. Buffers with an offset lie in one piece of memory
    and may overlap: a write through one destroys what another holds there. Contents
    are undefined until written. ``layout`` names the order that access rows follow,
    for instructions that are told it. Between accesses of a ``guarded`` buffer the
    compiler places barriers, of others the author does. Raises: WV0217 for shapes of
    different rank, WV0425.
    """

    shape: tuple[Expr, ...] = attribute(help="the logical dims")
    distributed_shape: tuple[Expr, ...] = attribute(help="the extents in storage")
    dtype: DType = attribute(help="the element type")
    space: AddressSpace = attribute(default=AddressSpace.SHARED, help="where it is")
    padding: int = attribute(least=0, default=0, help="elements added to each row")
    offset: int | None = attribute(
        default=None, help="first byte in the packed memory; chosen by default"
    )
    tail_padding: int = attribute(
        least=0, default=0, help="elements added after the last row"
    )
    guarded: bool = attribute(default=True, help="whether the compiler places barriers")
    layout: BufferLayout | None = attribute(
        default=None, help="the order of its elements, where matrix units read it"
    )

    def infer(self) -> MemoryType:
        """A memory whose storage is the distributed shape."""
        rules.require_distinct(self, self.shape, "shape")
        rules.require_bytes("`allocate`", self.dtype, self.location)
        if len(self.shape) != len(self.distributed_shape) or not self.shape:
            raise user_error(
                "WV0217",
                f"`allocate` got {len(self.shape)} dims and "
                f"{len(self.distributed_shape)} extents",
                at=self.location,
                help="`distributed_shape` has one extent for each dim of `shape`",
            )
        self._require_size()
        *outer, inner = self.distributed_shape
        physical = (*outer, inner + self.padding)
        return MemoryType(tuple(self.shape), self.space, self.dtype, physical)

    def _require_size(self) -> None:
        """Extents that are known are positive, and so few that 32 bits count them."""
        sizes = [s.constant_value for s in self.distributed_shape if s.is_constant]
        if (
            min(sizes, default=1) < 1
            or prod(sizes) + self.padding + self.tail_padding > MOST
        ):
            raise user_error(
                "WV0217",
                f"the extents of `allocate` are not positive, or more than {MOST} "
                "elements together",
                at=self.location,
                help="give the elements of one workgroup's tile, such as BLOCK_M",
            )

    def effects(self) -> tuple[Effect, ...]:
        """The buffer comes into being."""
        return (Effect(EffectKind.ALLOCATE, self),)


class Read(_Access, name="read", traits={Trait.FLEXIBLE}):
    """A tile read from a memory.

    Without a mapping, element ``[i, j]`` of the tile is element ``[i, j]`` of the
    memory; ``mapping`` gives the memory's coordinates as expressions of the
    register's. Elements beyond the extent of a dimension are 0, and so are those that
    do not exist by the mapping's condition.

    Shapes: the memory's dims, or ``shape`` with a mapping. Dtypes: the memory's.
    Raises: WV0202, WV0401 for a mapping that does not fit the memory, WV0402 for
    index registers that do not fit the mapping.
    """

    memory: Op = operand(help="the memory")
    indices: tuple[Op, ...] = variadic(help="index registers of the mapping")
    mapping: AccessMapping | None = attribute(
        default=None, help="from register indices to coordinates of the memory"
    )
    shape: tuple[Expr, ...] | None = attribute(default=None, help="register dims")
    elements_per_thread: int | None = attribute(
        least=1,
        default=None,
        help="consecutive elements of one lane; chosen by default",
    )
    flags: str = attribute(default="none", help=ACCESS_FLAGS)

    @property
    def memory_type(self) -> MemoryType:
        """The type of the memory that is accessed."""
        return self.memory.memory_type

    def infer(self) -> RegisterType:
        """A register of the memory's element type."""
        memory = rules.memory_type(self, self.memory, "memory")
        shape = memory.shape if self.shape is None else tuple(self.shape)
        if self.mapping is None and self.shape is None:
            return RegisterType(shape, memory.dtype)
        rules.require_distinct(self, shape, "shape")
        check_access(self, self.mapping, shape, memory)
        return RegisterType(shape, memory.dtype)

    def effects(self) -> tuple[Effect, ...]:
        """Reads its memory."""
        return (Effect(EffectKind.READ, self.memory),)


class TransposedRead(Read, name="transposed_read"):
    """A read of LDS whose lanes exchange what they fetched.

    Only in lowered graphs, for targets with a row for it. The access row says what
    each lane fetches: neighbouring elements. The exchange is that of the target: on
    AMD's those of sixteen lanes, one lane after another, are rows of sixteen elements,
    and lane ``i`` of the sixteen gets column ``i``, row ``r`` in register ``r``. The
    placement row says what it holds then. With ``rows`` it is another exchange of the
    target, which leaves elements of a row in order. Every lane takes part, and none is
    masked. Shapes and dtypes: as `Read`.
    """

    rows: bool = attribute(default=False, help="lanes get parts of rows, not columns")


class Write(_Access, name="write"):
    """A tile written to a memory; elements beyond its extents are skipped.

    So are those that do not exist by the mapping's condition.

    Shapes: the register's dims are the memory's, or those of the mapping. Dtypes:
    the memory's. Raises: WV0201, WV0202, WV0204, WV0208, WV0401, WV0402.
    """

    value: Op = operand(help="the register")
    memory: Op = operand(help="the memory")
    indices: tuple[Op, ...] = variadic(help="index registers of the mapping")
    mapping: AccessMapping | None = attribute(
        default=None, help="from register indices to coordinates of the memory"
    )
    elements_per_thread: int | None = attribute(
        least=1,
        default=None,
        help="consecutive elements of one lane; chosen by default",
    )
    flags: str = attribute(default="none", help=ACCESS_FLAGS)

    @property
    def memory_type(self) -> MemoryType:
        """The type of the memory that is accessed."""
        return self.memory.memory_type

    def infer(self) -> None:
        """No value; the register has to fit the memory."""
        check_stored(self, self.value)

    def effects(self) -> tuple[Effect, ...]:
        """Writes its memory."""
        return (Effect(EffectKind.WRITE, self.memory),)


class GatherToLDS(Op, name="gather_to_lds"):
    """Starts a copy from global memory to LDS, and goes on.

    The data is there once the wave has waited for its copies, and other waves see it
    after the next barrier: ``shared_memory_barrier(wait_async_ops=True)`` does both.
    Until then neither the elements read nor those written may be touched otherwise.
    Elements that do not exist become 0. Index registers are read when it starts.

    In lowered form the access row says what each lane reads, with one element of each
    index register for all that it copies; the landing row says
    where it arrives: the lanes of a wave side by side, whatever they read, but for
    targets whose copies take pointers: there each lane arrives where it says. With
    ``box``, what all lanes of the workgroup bring together is a box of so many
    elements along each dimension, in both memories; it begins where the first lane's
    first element is, and what of it the source has not becomes 0. A machine that
    copies boxes may do it at once, in the name of all waves.

    Shapes: without a mapping both memories have the same dims; ``mapping`` gives the
    coordinates of the source as expressions of the destination's indices. Dtypes: the
    same. Raises: WV0402 for index registers that do not fit the mapping, WV0413 for
    memories that do not fit.
    """

    source: Op = operand(help="the memory to copy from")
    destination: Op = operand(help="the buffer in LDS")
    indices: tuple[Op, ...] = variadic(help="index registers of the mapping")
    mapping: AccessMapping | None = attribute(
        default=None, help="from indices of the buffer to coordinates of the source"
    )
    elements_per_thread: int | None = attribute(
        least=1,
        default=None,
        help="consecutive elements of one lane; chosen by default",
    )
    box: tuple[int, ...] = attribute(
        default=(),
        help="extents of the box that all lanes bring together, if it is one",
    )

    def infer(self) -> None:
        """No value; the memories have to fit."""
        source = rules.memory_type(self, self.source, "source")
        target = rules.memory_type(self, self.destination, "destination")
        if isinstance(self.source, Allocate):
            raise _unfit(self, "the source lies in LDS already", self.source)
        if target.space is not AddressSpace.SHARED:
            raise _unfit(self, "the destination is not in LDS", self.destination)
        if source.dtype != target.dtype:
            what = f"it copies {source.dtype} to {target.dtype}"
            raise _unfit(self, what, self.source)
        if not _connects(self.mapping, source, target):
            what = "the dims of the memories differ, and no mapping connects them"
            raise _unfit(self, what, self.source)
        _check_indices(self, self.mapping)

    def effects(self) -> tuple[Effect, ...]:
        """Reads one memory, and writes the other one some time later."""
        return (
            Effect(EffectKind.READ, self.source),
            Effect(EffectKind.DMA_WRITE, self.destination),
        )


def check_stored(op: Write | Atomic, value: Op) -> None:
    """Refuse a register that does not fit the memory which it goes to.

    Raises:
        UserError: WV0201, WV0202, WV0204, WV0208, WV0401, WV0402.
    """
    found = rules.register_type(op, value, "register")
    memory = rules.memory_type(op, op.memory, "memory")
    if found.dtype != memory.dtype:
        raise user_error(
            "WV0204",
            f"`{op.op_name}` of {found.dtype} to a memory of {memory.dtype}",
            at=op.location,
            label=f"the register is {found.dtype}",
            secondary=(
                (value.location, f"this is {found.dtype}"),
                (op.memory.location, f"this is {memory.dtype}"),
            ),
            help=f"write `cast(register, {memory.dtype})`",
        )
    if op.mapping is None:
        rules.require_same_dims(op, value, memory.shape, "the memory")
    else:
        check_access(op, op.mapping, found.shape, memory)


def check_access(
    op: Read | Write | Atomic,
    mapping: AccessMapping | None,
    shape: tuple[Expr, ...],
    memory: MemoryType,
) -> None:
    """Refuse a mapping that does not go from the register to the memory.

    Raises:
        UserError: WV0401, WV0402.
    """
    dims = tuple(dim_name(dim) for dim in shape)
    if mapping is None:
        fits = set(dims) == set(memory.dims)
    else:
        fits = set(mapping.register_dims) == set(dims)
        fits = fits and len(mapping.coordinates) == len(memory.shape)
    if not fits:
        raise user_error(
            "WV0401",
            f"the mapping of `{op.op_name}` does not go from register dims "
            f"{rules.dims_text(shape)} to memory dims {rules.dims_text(memory.shape)}",
            at=op.location,
            secondary=((op.memory.location, f"this memory is {memory}"),),
            help="the register side names the register's dims, the other the memory's",
        )
    _check_indices(op, mapping)


def _check_indices(
    op: Read | Write | Atomic | GatherToLDS, mapping: AccessMapping | None
) -> None:
    wanted = () if mapping is None else mapping.dynamic_dims
    if len(op.indices) != len(wanted):
        raise user_error(
            "WV0402",
            f"the mapping of `{op.op_name}` uses {len(wanted)} index registers, "
            f"{len(op.indices)} are given",
            at=op.location,
            help="give `mapping_dynamic_vals=` one register for each `dynamic_val(i)`",
        )
    for position, value in enumerate(op.indices):
        rules.require_family(op, value, f"index register {position}", rules.INTEGERS)
        names = [dim_name(dim) for dim in value.register_type.shape]
        if mapping is not None and not set(names) <= set(mapping.register_dims):
            raise _foreign_index(op, value, position, mapping)


def _foreign_index(
    op: Read | Write | Atomic | GatherToLDS,
    value: Op,
    position: int,
    mapping: AccessMapping,
) -> Exception:
    dims = ", ".join(mapping.register_dims)
    return user_error(
        "WV0402",
        f"index register {position} of `{op.op_name}` has dims "
        f"{rules.shape_text(value)}, the register [{dims}]",
        at=op.location,
        label=f"indexes [{dims}]",
        secondary=((value.location, f"this has {value.type}"),),
        help="an index register has dims of the register that it indexes",
    )


def _connects(
    mapping: AccessMapping | None, source: MemoryType, target: MemoryType
) -> bool:
    """Whether every element of the target has its element of the source."""
    if mapping is None:
        return set(source.dims) == set(target.dims)
    fits = set(mapping.register_dims) == set(target.dims)
    return fits and len(mapping.coordinates) == len(source.shape)


def _unfit(op: GatherToLDS, what: str, memory: Op) -> Exception:
    return user_error(
        "WV0413",
        f"`gather_to_lds` cannot copy: {what}",
        at=op.location,
        secondary=((memory.location, f"this is {memory.type}"),),
        help="copy from a kernel argument to an allocation of the same element type",
    )
