"""What torch calls for the same work, on the same arguments.

Torch returns what it computes in the type of its operands; a kernel may write another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Peers = Mapping[str, Callable[[Sequence[Any]], object]]


def copying() -> Peers:
    """A copy of the first argument into the last."""
    return {"torch": lambda tensors: tensors[-1].copy_(tensors[0])}


def softmax() -> Peers:
    """Softmax of rows."""
    return {"torch": lambda tensors: tensors[0].softmax(-1)}


def norm(vectors: int) -> Peers:
    """The norm of rows by one vector, or by two: RMS norm, or layer norm."""

    def run(tensors: Sequence[Any]) -> object:
        import torch  # noqa: PLC0415 - torch is loaded only when measuring

        names = "rms_norm", "layer_norm"
        rows, *columns, eps = tensors[: vectors + 2]
        norm: Any = getattr(torch.nn.functional, names[vectors - 1])
        return norm(rows, rows.shape[-1:], *columns, eps)

    return {"torch": run}


def product(layout: str) -> Peers:
    """A matrix product of the operands in their layout; `gemm_kernel` explains it."""
    first, second = layout

    def run(tensors: Sequence[Any]) -> object:
        a, b = tensors[:2]
        x = a if first == "N" else a.mT
        return x @ (b if second == "N" else b.mT)

    return {"torch": run}


def attention(*, causal: bool) -> Peers:
    """Attention of heads, whose queries are scaled already for powers of two."""

    def run(tensors: Sequence[Any]) -> object:
        import torch  # noqa: PLC0415 - torch is loaded only when measuring

        heads = (each[None] for each in tensors[:3])
        return torch.nn.functional.scaled_dot_product_attention(
            *heads, is_causal=causal, scale=0.6931471805599453
        )

    return {"torch": run}
