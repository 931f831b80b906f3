"""`scaled_dot_product_attention` as one kernel."""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.functions.attention_calls import HALVES, WIDEST
from wave_torch.graphs.nodes import (
    DEVICES,
    Left,
    bound,
    emit,
    same_shape,
    size_of,
    value_of,
    word,
)

if TYPE_CHECKING:
    from torch import fx

ARGUMENTS = {
    "query": None,
    "key": None,
    "value": None,
    "attn_mask": None,
    "dropout_p": 0.0,
    "is_causal": False,
    "scale": None,
    "enable_gqa": False,
}


def attend(node: fx.Node) -> fx.Node | Left:
    """`torch.ops.wave.attention`, where it computes the same."""
    call = _Call(node, bound(node, ARGUMENTS))
    reason = call.why_not()
    return Left(reason) if reason else call.written()


@dataclass(frozen=True)
class _Call:
    """One call, and the node in front of which what replaces it stands."""

    node: fx.Node
    given: dict[str, Any]

    def value(self, name: str) -> Any:
        return value_of(self.given[name])

    def why_not(self) -> str:
        """What the kernel does not do; empty where it does all."""
        checks = self._why_not_type, self._why_not_shape, self._why_not_mask
        return next((reason for check in checks if (reason := check())), "")

    def _why_not_type(self) -> str:
        result = value_of(self.node)
        if result.device.type not in DEVICES:
            return f"no kernel runs on {result.device.type}"
        if result.dtype not in HALVES:
            return f"attention is of f16 and bf16, not {word(result.dtype)}"
        return "dropout" if self.given["dropout_p"] else ""

    def _why_not_shape(self) -> str:
        query, key, value = map(self.value, ("query", "key", "value"))
        if not query.ndim == key.ndim == value.ndim in (3, 4):
            return f"queries have {query.ndim} dimensions, not 3 or 4"
        if max(query.shape[-1], value.shape[-1]) > WIDEST:
            return f"heads have more than {WIDEST} channels"
        if not same_shape(query.shape[:-3], key.shape[:-3]):
            return "queries and keys are of different batches"
        shared = same_shape(query.shape[-3:-2], key.shape[-3:-2])
        if not shared and not self.given["enable_gqa"]:
            return "queries and keys have different heads"
        return ""

    def _why_not_mask(self) -> str:
        query, key, mask = map(self.value, ("query", "key", "attn_mask"))
        if self.given["is_causal"] and query.shape[-2] > key.shape[-2]:
            return "causal, with more queries than keys"
        if mask is None:
            return ""
        if self.given["is_causal"]:
            return "causal, with a mask as well"
        return "the mask takes part in training" if mask.requires_grad else ""

    def written(self) -> fx.Node:
        """The call of the operator, behind what prepares its arguments."""
        layout = "bshd" if self._heads_inside() else "bhsd"
        operands = [self._laid(name, layout) for name in ("query", "key", "value")]
        found = emit(
            self.node,
            torch.ops.wave.attention.default,
            *operands,
            causal=self.given["is_causal"],
            bias=self._bias(),
            scale=self.given["scale"],
            layout=layout,
        )
        if layout == "bshd":
            return emit(self.node, torch.transpose, found, 1, 2)
        if value_of(self.node).ndim == 3:
            return emit(self.node, torch.squeeze, found, 0)
        return found

    def _heads_inside(self) -> bool:
        """Whether operands lie as [batch, sequence, head, channel] in memory.

        Those that are part of something bigger are copied in either layout; results
        of the other ones lie as most models go on with them.
        """
        operands = [self.value(name) for name in ("query", "key", "value")]
        if any(each.ndim != 4 or each.is_contiguous() for each in operands):
            return all(_is_inside(each) for each in operands)
        strides = self.value("query").stride()
        return strides[1] < strides[2]

    def _laid(self, name: str, layout: str) -> fx.Node:
        """An operand with four dimensions in an order; keys that nobody sees cut off.

        Query 0 of torch stands at key 0, and ours, the last one, at the last key.
        """
        found: fx.Node = self.given[name]
        if value_of(found).ndim == 3:
            found = emit(self.node, torch.unsqueeze, found, 0)
        queries, keys = (self.value(each).shape[-2] for each in ("query", "key"))
        if self.given["is_causal"] and name != "query" and queries != keys:
            seen = size_of(self.node, self.given["query"], -2)
            found = emit(self.node, torch.narrow, found, -2, 0, seen)
        dtype = value_of(self.node).dtype
        if value_of(found).dtype != dtype:
            found = emit(self.node, torch.ops.aten.to.dtype, found, dtype)
        if layout == "bshd":
            found = emit(self.node, torch.transpose, found, 1, 2)
        if not value_of(found).is_contiguous():
            # The kernel has rows behind each other. As a node of the graph, the copy is
            # Inductor's, which may fuse it; before the launch it would be torch's.
            rows = {"memory_format": torch.contiguous_format}
            found = emit(self.node, torch.ops.aten.clone.default, found, **rows)
        return found

    def _bias(self) -> fx.Node | None:
        """The mask as numbers to add: minus infinity hides a key."""
        mask = self.given["attn_mask"]
        if mask is None:
            return None
        dtype = value_of(self.node).dtype
        if value_of(mask).dtype != torch.bool:
            kept = self._kept_finite(mask, dtype)
            return emit(self.node, torch.ops.aten.to.dtype, kept, dtype)
        shown = emit(self.node, torch.zeros_like, mask, dtype=dtype)
        hidden = emit(self.node, torch.logical_not, mask)
        return emit(self.node, torch.masked_fill, shown, hidden, float("-inf"))

    def _kept_finite(self, mask: fx.Node, dtype: torch.dtype) -> fx.Node:
        """A mask whose finite numbers are finite in another type too.

        Rows of the least number hide no key, and rows of minus infinity all. The kernel
        multiplies by log2(e), for which half of the greatest number leaves room.
        """
        most = torch.finfo(dtype).max / 2
        if value_of(mask).dtype == dtype:
            return mask
        within = emit(self.node, torch.clamp, mask, -most, most)
        infinite = emit(self.node, torch.isinf, mask)
        return emit(self.node, torch.where, infinite, mask, within)


def _is_inside(operand: torch.Tensor) -> bool:
    """Whether an operand lies as [batch, sequence, head, channel]."""
    return operand.ndim == 4 and operand.transpose(1, 2).is_contiguous()
