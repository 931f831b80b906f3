"""Nodes of torch's graphs: what they compute, of which shape, and new ones."""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch._subclasses import FakeTensor
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.fx.node import map_arg
from torch.utils._pytree import tree_leaves

from wave_kernels.functions.arguments import FLOATS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEVICES = ("cpu", "cuda")
"""Where kernels run, by torch's names."""

VALUE_KEYS = ("val", "example_value")
"""Where AOTAutograd and Dynamo keep what a node's result looks like."""

KERNEL = "wave_kernel"
"""Where nodes that are no operators keep which kernel they run."""

ORIGIN = "wave_origin"
"""Where nodes keep the names of the ops that they replace."""

UNSAFE_VIEW = torch.ops.aten._unsafe_view.default  # noqa: SLF001 - its name
"""A view whose argument nobody else reads, which its schema does not say."""

WORDS: dict[torch.dtype, str] = {
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float64: "f64",
}
"""Types by short names; others are called as torch does."""


@dataclass(frozen=True)
class Left:
    """A rule's answer where no kernel takes an op.

    Attributes:
        why: Half a sentence for the report.
    """

    why: str


Rule = Callable[[fx.Node], fx.Node | tuple[fx.Node | None, ...] | Left]
"""Writes in front of an op what is computed instead, a node for each result."""


def value_of(node: object) -> Any:
    """What a node's result looks like; anything else is its own value."""
    if not isinstance(node, fx.Node):
        return node
    return next((node.meta[key] for key in VALUE_KEYS if key in node.meta), None)


def tensor_of(node: object) -> torch.Tensor | None:
    """What a node's result looks like, if it is one tensor."""
    found = value_of(node)
    return found if isinstance(found, torch.Tensor) else None


def dtype_of(node: fx.Node) -> torch.dtype:
    """The type of a node's result, which is one tensor."""
    return value_of(node).dtype


def arguments_of(node: fx.Node) -> tuple[Any, ...]:
    """The arguments of an op, whose schema says what they are."""
    return node.args


def bound(node: fx.Node, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, those that are not given by default."""
    return {**defaults, **dict(zip(defaults, node.args, strict=False)), **node.kwargs}


def why_not(*values: torch.Tensor) -> str:
    """What keeps every kernel from tensors: where they are, or of which type."""
    for each in values:
        if each.device.type not in DEVICES:
            return f"no kernel runs on {each.device.type}"
        if each.dtype not in FLOATS:
            return f"no kernel is of {word(each.dtype)}"
        if each.dtype != values[0].dtype:
            return f"operands are {word(values[0].dtype)} and {word(each.dtype)}"
    return ""


def described(node: fx.Node) -> str:
    """Type and shape of a result, such as ``f16[10, 48]``."""
    value = value_of(node)
    first = value[0] if isinstance(value, (tuple, list)) and value else value
    if not isinstance(first, torch.Tensor):
        return ""
    return f"{word(first.dtype)}[{', '.join(map(str, first.shape))}]"


def word(dtype: torch.dtype) -> str:
    """A type as reports name it."""
    return WORDS.get(dtype, str(dtype).removeprefix("torch."))


def emit(
    before: fx.Node, target: Callable[..., Any], *args: Any, **kwargs: Any
) -> fx.Node:
    """A call in front of a node, with what its result looks like."""
    with before.graph.inserting_before(before):
        made = before.graph.call_function(target, args, kwargs)
    key = next(key for key in VALUE_KEYS if key in before.meta)
    plain, named = map_arg((args, kwargs), value_of)
    # Who looks at what gradients keep, as checkpoints do, is not to see this call.
    with fake_mode(before), torch.no_grad():
        made.meta[key] = target(*plain, **named)
    return made


def exchange(before: fx.Node, operand: fx.Node, dim: int, other: int) -> fx.Node:
    """An operand with two dims exchanged, by an op that Inductor has."""
    dims = list(range(value_of(operand).ndim))
    dims[dim], dims[other] = dims[other], dims[dim]
    return emit(before, torch.ops.aten.permute.default, operand, dims)


def size_of(before: fx.Node, operand: fx.Node, dim: int) -> int | fx.Node:
    """The size of a dimension, as an argument of calls in front of a node.

    Where it is known only when the graph runs, a node computes it.
    """
    size: int | torch.SymInt = value_of(operand).shape[dim]
    if isinstance(size, int):
        return size
    return emit(before, torch.ops.aten.sym_size.int, operand, dim)


def is_transformed(node: fx.Node) -> bool:
    """Whether a node's result is inside a transform of torch.func, such as `vmap`."""
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue] - no other way
    return any(
        isinstance(x, torch.Tensor) and wrapped(x) for x in tree_leaves(value_of(node))
    )


def is_size(node: fx.Node) -> bool:
    """Whether a node's result is a number, of which shapes are made."""
    return isinstance(value_of(node), int | torch.SymInt)


def order_in_memory(value: torch.Tensor) -> tuple[int, ...]:
    """The dims of a tensor, from that with the farthest neighbours on."""
    dims = range(value.ndim)
    if value.is_contiguous():
        return tuple(dims)
    return tuple(sorted(dims, key=lambda dim: -value.stride(dim)))


def lie(tensor: torch.Tensor, order: Sequence[int]) -> torch.Tensor:
    """The same numbers with dims in this order in memory, copied only where needed."""
    return tensor.permute(list(order)).contiguous().permute(inverse(order))


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The order that undoes another one."""
    return tuple(order.index(dim) for dim in range(len(order)))


def lies_as(value: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a tensor has its dims in memory as another one has, without gaps."""
    return value.permute(order_in_memory(other)).is_contiguous()


def lay_as(found: fx.Node, node: fx.Node) -> fx.Node:
    """What takes a node's place, as the node's result lies in memory.

    Ops behind it were chosen for that, and who called the model sees it.
    """
    value, wanted = tensor_of(found), tensor_of(node)
    if value is None or wanted is None or lies_as(value, wanted):
        return found
    order = order_in_memory(wanted)
    aten, rows = torch.ops.aten, {"memory_format": torch.contiguous_format}
    turned = emit(node, aten.permute.default, found, list(order))
    copied = emit(node, aten.clone.default, turned, **rows)
    return emit(node, aten.permute.default, copied, list(inverse(order)))


def fake_mode(node: fx.Node) -> Any:
    """The mode in which the shapes of a graph are computed."""
    leaves = tree_leaves(value_of(node))
    return next(each.fake_mode for each in leaves if isinstance(each, FakeTensor))


def note_origin(made: fx.Node, *instead_of: fx.Node) -> None:
    """Remember for the report which ops a node does the work of."""
    made.meta[ORIGIN] = tuple(name for node in instead_of for name in origin(node))


def origin(node: fx.Node) -> tuple[str, ...]:
    """The ops of torch that a node does the work of, by name."""
    return node.meta.get(ORIGIN) or (named(node),)


def named(node: fx.Node) -> str:
    """What a node calls, such as ``aten.addmm``."""
    packet = getattr(node.target, "overloadpacket", None)
    if packet is not None:
        return str(packet)
    return getattr(node.target, "__name__", str(node.target))


def is_view(node: fx.Node) -> bool:
    """Whether a node computes nothing: its result shares its argument's memory."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or node.target is UNSAFE_VIEW:
        return True
    aliases = [each.alias_info for each in schema.returns]
    return any(each is not None and not each.is_write for each in aliases)


def seen_through_views(node: fx.Node) -> fx.Node:
    """What computed the memory of a node's result."""
    while is_view(node) and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node


def only_user(node: fx.Node) -> fx.Node | None:
    """Who alone reads a node's result."""
    return next(iter(node.users)) if len(node.users) == 1 else None


def same_shape(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether shapes are the same whatever their symbols stand for."""
    return len(a) == len(b) and all(
        statically_known_true(x == y) for x, y in zip(a, b, strict=True)
    )
