"""What ``backend="wave"`` makes of a model, without keeping it."""

# Torch declares types for no function that takes functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_leaves

from wave_torch.report import GraphReport, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def explain(model: Callable[..., Any], *inputs: Any, **keywords: Any) -> Report:
    """Compile a model for these arguments and tell which op went where.

    The model runs once, and where its results have gradients, these are computed once,
    of zeros; no ``grad`` of a parameter changes.

    Args:
        model: A module, or a function of tensors.
        inputs: Arguments as it takes them.
        keywords: The same, by name.

    Returns:
        The report of every graph; more than one of a kind where the model breaks into
        several.
    """
    from wave_torch.backend import compile_graph  # noqa: PLC0415 - loads Dynamo

    found: list[GraphReport] = []

    def backend(module: torch.fx.GraphModule, examples: list[torch.Tensor]) -> Any:
        return compile_graph(module, examples, options={"report": found.append})

    results = tree_leaves(torch.compile(model, backend=backend)(*inputs, **keywords))
    _differentiate([each for each in results if isinstance(each, torch.Tensor)])
    return Report(tuple(found))


def _differentiate(results: Iterable[torch.Tensor]) -> None:
    """Compute gradients of what has some, for that they are compiled."""
    trained = [each for each in results if each.grad_fn is not None]
    leaves = [leaf for each in trained for leaf in _leaves(each.grad_fn)]
    if leaves:
        zeros = [torch.zeros_like(each) for each in trained]
        torch.autograd.grad(trained, leaves, zeros, allow_unused=True)


def _leaves(function: Any) -> Iterator[torch.Tensor]:
    """The tensors that gradients end at."""
    seen, waiting = set[Any](), [function]
    while waiting:
        current = waiting.pop()
        if current is None or current in seen:
            continue
        seen.add(current)
        if hasattr(current, "variable"):
            yield current.variable
        waiting += [following for following, _ in current.next_functions]
