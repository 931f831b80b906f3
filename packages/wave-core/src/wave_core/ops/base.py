"""How an op is declared, and what an instance of one is.

A class states an op once::

    class Select(Op, name="select", traits={Trait.PURE, Trait.ELEMENTWISE}):
        condition: Op = operand()
        on_true: Op = operand()
        on_false: Op = operand()

        def infer(self) -> RegisterType: ...
        def evaluate(self, condition, on_true, on_false): ...

The surface function, the printer and the parser derive from the declaration. An
instance is created once and lives on one node of a graph; it also stands for the
value that it defines, so an operand of an op is an op.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from inspect import get_annotations
from operator import methodcaller
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Protocol,
    Self,
    TypeAlias,
    dataclass_transform,
)

from wave_core.diagnostics import internal_error, user_error
from wave_core.ops.foreign import guard_rules
from wave_core.types import MemoryType, RegisterType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.diagnostics import Location
    from wave_core.ir.graph import Region
    from wave_core.ops.traits import Effect, Trait
    from wave_core.types import Type


Slot: TypeAlias = "Op | tuple[Op, ...] | None"
"""The contents of an operand slot: a value, several values, or nothing."""
NodeArguments: TypeAlias = (
    "tuple[NodeLike | tuple[NodeLike, ...] | list[NodeLike] | None, ...]"
)
"""The same on the nodes of the storage."""


class NodeLike(Protocol):
    """The part of a storage node that an op needs; ``ir`` supplies it."""

    args: NodeArguments
    users: Mapping[Any, None]
    meta: dict[str, Any]


class FieldKind(Enum):
    """Kinds of declared fields of ops."""

    OPERAND = "operand"
    OPTIONAL = "optional"
    VARIADIC = "variadic"
    ATTRIBUTE = "attribute"
    REGION = "region"


class _Required:
    """Marks an attribute without a default."""


REQUIRED = _Required()


@dataclass(frozen=True, slots=True)
class Field:
    """One declared field of an op class.

    Attributes:
        kind: What it holds.
        default: Its value where a caller gives none.
        help: What it means.
        least: Of a number, the smallest one.
        name: Its name in the class.
        declared: The type as it is written: what authors may give.
    """

    kind: FieldKind
    default: object = REQUIRED
    help: str = ""
    least: int | None = None
    name: str = ""
    declared: str = ""

    @property
    def is_operand(self) -> bool:
        """Whether the field holds values."""
        return self.kind in OPERAND_KINDS

    @property
    def variadic(self) -> bool:
        """Whether the field holds any number of values."""
        return self.kind is FieldKind.VARIADIC

    @property
    def required(self) -> bool:
        """Whether a caller has to give the field."""
        return self.default is REQUIRED


OPERAND_KINDS = frozenset({FieldKind.OPERAND, FieldKind.OPTIONAL, FieldKind.VARIADIC})


def operand(*, help: str = "") -> Any:  # noqa: A002
    """Declare one value operand."""
    return Field(FieldKind.OPERAND, REQUIRED, help)


def optional(*, default: None = None, help: str = "") -> Any:  # noqa: A002
    """Declare a value operand that may be absent."""
    return Field(FieldKind.OPTIONAL, default, help)


def variadic(*, default: tuple[Op, ...] = (), help: str = "") -> Any:  # noqa: A002
    """Declare any number of value operands."""
    return Field(FieldKind.VARIADIC, default, help)


def attribute(
    *,
    default: object = REQUIRED,
    help: str = "",  # noqa: A002
    least: int | None = None,
) -> Any:
    """Declare a compile-time attribute; of a number, ``least`` is the smallest."""
    return Field(FieldKind.ATTRIBUTE, default, help, least)


def region(*, help: str = "") -> Any:  # noqa: A002
    """Declare a nested region."""
    return Field(FieldKind.REGION, REQUIRED, help)


@dataclass_transform(field_specifiers=(operand, optional, variadic, attribute, region))
class Op:
    """An operation of a graph, and the value that it defines (if any).

    Attributes:
        op_name: The name in text, without a dialect prefix for core's own ops.
        traits: What passes may rely on.
        fields: The declared fields, operands in the order of the operand slots.
        type: The type of the defined value; ``None`` where there is none.
        location: Where in the user's file the op comes from.
        tags: Names that schedules use to find the op.
        ident: The stable key of the op in fact tables; unique in its graph.
    """

    op_name: ClassVar[str] = ""
    traits: ClassVar[frozenset[Trait]] = frozenset()
    fields: ClassVar[tuple[Field, ...]] = ()
    operand_fields: ClassVar[tuple[Field, ...]] = ()
    field_names: ClassVar[tuple[str, ...]] = ()
    field_defaults: ClassVar[Mapping[str, object]] = {}

    type: Type | None
    location: Location | None
    tags: frozenset[str]
    ident: int
    node: NodeLike | None
    owner: Region | None
    regions: tuple[Region, ...]

    def __init_subclass__(
        cls, *, name: str = "", traits: Iterable[Trait] = (), **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        cls.op_name = name or cls.op_name
        cls.traits = cls.traits | frozenset(traits)
        hints = get_annotations(cls)
        declared = [
            replace(value, name=key, declared=str(hints.get(key, "")))
            for key, value in vars(cls).items()
            if isinstance(value, Field)
        ]
        inherited = {field.name for field in declared}
        cls.fields = (
            *(field for field in cls.fields if field.name not in inherited),
            *declared,
        )
        cls.operand_fields = tuple(f for f in cls.fields if f.is_operand)
        cls.field_names = tuple(f.name for f in cls.fields)
        cls.field_defaults = {f.name: f.default for f in cls.fields if not f.required}
        regions = [f for f in cls.fields if f.kind is FieldKind.REGION]
        others = [f for f in cls.fields if f.kind is FieldKind.ATTRIBUTE]
        for slots in (cls.operand_fields, regions, others):
            for slot, field in enumerate(slots):
                setattr(cls, field.name, _accessor(field, slot))
        guard_rules(cls, Op)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        values = bind_fields(type(self), args, kwargs)
        slots: list[Slot] = []
        attributes: dict[str, Any] = {}
        regions: list[Region] = []
        for field in self.fields:
            value = values[field.name]
            if field.kind is FieldKind.ATTRIBUTE:
                attributes[field.name] = value
            elif field.kind is FieldKind.REGION:
                regions.append(value)
            else:
                slots.append(tuple(value) if field.variadic else value)
        self._set_parts(tuple(slots), attributes, tuple(regions))

    @classmethod
    def build(
        cls,
        slots: tuple[Slot, ...],
        attributes: dict[str, Any],
        regions: tuple[Region, ...] = (),
    ) -> Self:
        """An op from parts that are known to fit: all slots, attributes and regions.

        ``slots`` has one value, tuple or ``None`` for each operand field.
        """
        op = cls.__new__(cls)
        op._set_parts(slots, attributes, regions)  # noqa: SLF001 - same class
        return op

    def _set_parts(
        self,
        slots: tuple[Slot, ...],
        attributes: dict[str, Any],
        regions: tuple[Region, ...],
    ) -> None:
        self._pending = slots
        self.attributes = attributes
        self.regions = regions
        self.type = None
        self.location = None
        self.tags = frozenset()
        self.ident = -1
        self.node = None
        self.owner = None

    def slot_value(self, slot: int) -> Any:
        """The op, the tuple of ops, or ``None`` in operand slot ``slot``."""
        if self.node is None:
            return self._pending[slot]
        value = self.node.args[slot]
        if value is None:
            return None
        if isinstance(value, (tuple, list)):
            return tuple([node.meta["op"] for node in value])
        return value.meta["op"]

    def slot_part(self, slot: int, place: int) -> Op:
        """One of the tuple of ops in operand slot ``slot``."""
        value: Any = self._pending if self.node is None else self.node.args
        part = value[slot][place]
        found: Op = part if self.node is None else part.meta["op"]
        return found

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The values of all operand slots."""
        if self.node is None:
            return self._pending
        return tuple([self.slot_value(i) for i in range(len(self.operand_fields))])

    @property
    def operands(self) -> tuple[Op, ...]:
        """All operands, variadic ones flattened, absent ones left out."""
        if self.node is not None:
            return _flat_operands(self.node.args)
        flat: list[Op] = []
        for value in self._pending:
            if isinstance(value, tuple):
                flat.extend(value)
            elif value is not None:
                flat.append(value)
        return tuple(flat)

    @property
    def users(self) -> tuple[Op, ...]:
        """The ops of the same region that use this value, each once."""
        if self.node is None:
            return ()
        return tuple(node.meta["op"] for node in self.node.users)

    @property
    def register_type(self) -> RegisterType:
        """The type of a value that is a tile in registers."""
        assert isinstance(self.type, RegisterType), f"{self!r} is no register value"
        return self.type

    @property
    def memory_type(self) -> MemoryType:
        """The type of a memory; of an access, that of the memory which it touches."""
        assert isinstance(self.type, MemoryType), f"{self!r} is no memory"
        return self.type

    def has(self, trait: Trait) -> bool:
        """Whether the op's class has ``trait``."""
        return trait in self.traits

    def infer(self) -> Type | None:
        """The type rule: the type of the value, from operands and attributes.

        Raises:
            UserError: WV02xx where the operands do not fit.
        """
        return None

    def effects(self) -> tuple[Effect, ...]:
        """The effects of the op on memory; none unless an op says otherwise."""
        return ()

    def evaluate(self, *operands: Any) -> Any:
        """The meaning on whole logical tiles, as numpy arrays.

        Shapes: the axes of an operand are its dims, in order; there may be one more
        in front, for tiles that are computed together, so axes count from the end.
        """
        del operands
        raise internal_error(
            "WV9905", f"`{self.op_name}` has no meaning of its own on tiles"
        )

    def __repr__(self) -> str:
        return f"<{self.op_name} #{self.ident}>"


def _accessor(field: Field, slot: int) -> property:
    """The property that reads a field: from its slot, or by its name."""
    if field.is_operand:
        return property(methodcaller("slot_value", slot))

    def of_region(op: Op) -> Region:
        return op.regions[slot]

    def of_attribute(op: Op) -> Any:
        return op.attributes[field.name]

    return property(of_region if field.kind is FieldKind.REGION else of_attribute)


def _flat_operands(args: NodeArguments) -> tuple[Op, ...]:
    flat: list[Op] = []
    for value in args:
        if isinstance(value, (tuple, list)):
            flat.extend([node.meta["op"] for node in value])
        elif value is not None:
            flat.append(value.meta["op"])
    return tuple(flat)


def bind_fields(
    cls: type[Op],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    at: Location | None = None,
) -> dict[str, Any]:
    """Match call arguments with the declared fields, in declaration order.

    ``at`` is the call, for messages.

    Raises:
        UserError: WV0106 for an unknown, repeated or missing argument.
    """
    if len(args) > len(cls.fields):
        raise _argument_error(cls, f"takes at most {len(cls.fields)} arguments", at)
    given: dict[str, Any] = dict(zip(cls.field_names, args, strict=False))
    for key in kwargs:
        if key in given:
            raise _argument_error(cls, f"got `{key}` twice", at)
        if key not in cls.field_names:
            raise _argument_error(cls, f"has no operand or attribute `{key}`", at)
    values = {**cls.field_defaults, **given, **kwargs}
    if len(values) < len(cls.fields):
        missing = next(name for name in cls.field_names if name not in values)
        raise _argument_error(cls, f"needs `{missing}`", at)
    return values


def _argument_error(cls: type[Op], what: str, at: Location | None) -> Exception:
    names = ", ".join(field.name for field in cls.fields)
    return user_error(
        "WV0106", f"`{cls.op_name}` {what}", at=at, help=(f"its fields are: {names}",)
    )
