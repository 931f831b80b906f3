"""Inductor, which generates code for what has no kernel of ours.

Importing this takes long, and is left to who needs it. Code that Inductor generates
calls the functions of wave-kernels, not their operators: when it runs, gradients,
autocast and shapes are settled, and torch's dispatcher would take longer than a launch.
"""

# Inductor declares few types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedBaseClass=false
# pyright: reportUntypedFunctionDecorator=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._inductor import config, ir
from torch._inductor.compile_fx import (
    _graph_counter,  # pyright: ignore[reportPrivateUsage] - graphs have one number each
    compile_fx_inner,
    get_static_input_idxs,
)
from torch._inductor.cudagraph_utils import BoxedDeviceIndex
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.lowering import (
    add_layout_constraint,
    add_needs_realized_inputs,
    constrain_to_fx_strides,
    register_lowering,
)
from torch._inductor.select_algorithm import extern_kernels
from torch._inductor.utils import BoxedBool, count_tangents
from torch.utils._pytree import tree_map

from wave_kernels import functions
from wave_torch.ops import TABLE
from wave_torch.ops.registration import NAMESPACE, arguments_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torch import fx

    from wave_torch.ops.row import WaveOp

__all__ = ["Generator", "select_decomp_table"]


class Generator:
    """Generates code for the graphs of one model: those forward and backward."""

    def __init__(self, *, captured: bool) -> None:
        """Begin.

        Args:
            captured: Whether calls are captured in CUDA graphs, and these replayed, as
                they also are where Inductor's configuration says so. Parameters stay
                where they are, and other arguments are copied; results are overwritten
                by the next call.
        """
        self._captured = captured or bool(config.triton.cudagraphs)
        self._number = next(_graph_counter)
        self._device = BoxedDeviceIndex(None)

    def compile(
        self, module: fx.GraphModule, inputs: Sequence[torch.Tensor], phase: str
    ) -> Any:
        """What computes a graph of ops; ``phase`` as reports have it."""
        is_backward = phase == "backward"
        # What the forward graph saved for this one stays where it is.
        kept = (
            range(count_tangents(module)) if is_backward else get_static_input_idxs(0)
        )
        with config.patch({"triton.cudagraphs": self._captured}):
            return compile_fx_inner(
                module,
                inputs,
                cudagraphs=BoxedBool(self._captured),
                static_input_idxs=[*kept],
                graph_id=self._number,
                is_backward=is_backward,
                is_inference=phase == "inference",
                boxed_forward_device_index=self._device,
            )


class FunctionCall(ir.FallbackKernel):
    """A node whose code calls a function by the name that it has in `extern_kernels`.

    That is where generated code finds functions of Python, also code that was cached
    by another process.
    """

    def set_python_kernel_name(self, python_kernel_name: str | None) -> None:
        """Name what generated code calls."""
        super().set_python_kernel_name(python_kernel_name)
        operator = self.op_overload.name().removeprefix(f"{NAMESPACE}::")
        self.python_kernel_name = f"extern_kernels.{_called(operator)}"


def _called(operator: str) -> str:
    return f"{NAMESPACE}_{operator}"


def _call_functions(rows: Iterable[WaveOp]) -> None:
    """Let Inductor call the functions of these operators."""
    for row in rows:
        setattr(extern_kernels, _called(row.name), getattr(functions, row.name))
        operator = getattr(getattr(torch.ops, NAMESPACE), row.name).default
        # As Inductor treats operators with the tags that ours have.
        add_needs_realized_inputs(operator)
        add_layout_constraint(operator, constrain_to_fx_strides)
        register_lowering(operator, type_promotion_kind=None)(
            _lowering(operator, arguments_of(row.name))
        )


def _lowering(operator: Any, names: Sequence[str]) -> Callable[..., Any]:
    """From a node of a graph to one of Inductor's; functions take arguments by name."""

    def lower(*arguments: Any, **named: Any) -> Any:
        named = dict(zip(names, arguments, strict=False)) | named
        return tree_map(_wrapped, FunctionCall.create(operator, **named))

    return lower


def _wrapped(value: Any) -> Any:
    """What lowerings of what reads it take."""
    return ir.TensorBox.create(value) if isinstance(value, ir.IRNode) else value


_call_functions(TABLE)
