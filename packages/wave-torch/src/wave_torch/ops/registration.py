"""From rows to operators that torch knows."""

# Torch declares types for no function that takes functions.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from wave_core.diagnostics import capture_location, launch_error
from wave_kernels import functions
from wave_torch.ops.autocast import register_autocast
from wave_torch.ops.row import Call, WaveOp, result_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Results = torch.Tensor | tuple[torch.Tensor, ...]

__wave_frames__ = "internal"
"""Messages point at the line that calls an operator."""

NAMESPACE = "wave"

DEVICES = ("cpu", "cuda")
"""Where operators run, by torch's names: AMD's GPUs are called cuda too."""

DIFFERENTIABLE = (torch.float32, torch.float16, torch.bfloat16)
"""Types of arguments that may ask for a gradient."""

TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)
"""Graphs choose layouts by how operands lie, so Inductor is to leave them so."""


def register(rows: Iterable[WaveOp]) -> torch.library.Library:
    """Make operators of rows; they stay as long as what is returned does."""
    library = torch.library.Library(NAMESPACE, "FRAGMENT")
    for row in rows:
        _register(row, library)
    return library


def _register(row: WaveOp, library: torch.library.Library) -> None:
    name = f"{NAMESPACE}::{row.name}"
    torch.library.define(name, row.schema, lib=library, tags=TAGS)
    names = arguments_of(row.name)
    implementation = _by_keyword(getattr(functions, row.name), names)
    torch.library.impl(name, DEVICES, implementation, lib=library)
    torch.library.register_fake(name, row.result, lib=library)
    for device in DEVICES:
        register_autocast(row, names, device, library)
    if row.gradient is not None:
        backward = _backward(row.gradient, names)
        save = _save(row, names)
        torch.library.register_autograd(name, backward, setup_context=save, lib=library)
    if row.trained is not None:
        trained = _where_asked(row.trained, getattr(torch.ops.wave, row.name).default)
        library.impl(row.name, trained, "Autograd", with_keyset=True)


def _where_asked(trained: Callable[..., Any], operator: Any) -> Callable[..., Any]:
    """What keeps enough for a gradient, where one may be asked for."""

    def run(keys: Any, *arguments: object) -> Any:
        tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
        if torch.is_grad_enabled() and any(each.requires_grad for each in tensors):
            return trained(*arguments)
        below = keys & torch._C._after_autograd_keyset  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way
        return operator.redispatch(below, *arguments)

    return run


def arguments_of(name: str) -> tuple[str, ...]:
    """Names of the arguments of a registered operator, in order."""
    schema = getattr(torch.ops.wave, name).default._schema  # noqa: SLF001 - no other way
    return tuple(argument.name for argument in schema.arguments)


def _by_keyword(
    function: Callable[..., Any], names: Sequence[str]
) -> Callable[..., Any]:
    """Torch gives arguments in order, without trailing defaults."""

    def run(*arguments: object, **named: object) -> Any:
        return function(**dict(zip(names, arguments, strict=False)), **named)

    return run


def _save(row: WaveOp, names: Sequence[str]) -> Callable[..., None]:
    def save(ctx: Any, inputs: Sequence[object], output: Results) -> None:
        values = dict(zip(names, inputs, strict=True))
        for name, value in values.items():
            for each in _tensors(value):
                _check_differentiable(row, name, each)
        results = output if isinstance(output, tuple) else (output,)
        named = {result_name(place): each for place, each in enumerate(results)}
        values |= named
        ctx.mark_non_differentiable(*(named[n] for n in named if n in row.without))
        kept = {name: values[name] for name in row.saved}
        leaves, ctx.kept = tree_flatten(kept)
        ctx.places = [i for i, v in enumerate(leaves) if isinstance(v, torch.Tensor)]
        ctx.save_for_backward(*(leaves[place] for place in ctx.places))
        others = [None if isinstance(v, torch.Tensor) else v for v in leaves]
        ctx.others = others

    return save


def _tensors(value: Any) -> list[Any]:
    """An argument, or what it is a list of."""
    return [*value] if isinstance(value, list | tuple) else [value]


def _any(asked: object) -> bool:
    """Whether somebody wants a gradient of an argument, or of one in a list."""
    return any(_tensors(asked))


def _none(asked: object) -> Any:
    """No gradient of an argument, or none of each in a list."""
    return [None for _ in _tensors(asked)] if isinstance(asked, list) else None


def _check_differentiable(row: WaveOp, name: str, value: object) -> None:
    """No gradient is silently a wrong one.

    Raises:
        LaunchError: WV0714 for an argument that has no gradient, or whose type has
            none.
    """
    if not isinstance(value, torch.Tensor) or not value.requires_grad:
        return
    if name in row.without:
        advice = "there is no gradient of it: give `.detach()`"
    elif value.dtype not in DIFFERENTIABLE:
        advice = "gradients are of float32, float16 and bfloat16: give `.detach()`"
    else:
        return
    raise launch_error(
        "WV0714",
        f"`{row.name}`: `{name}` of {value.dtype} takes part in autograd",
        at=capture_location(),
        label="called here",
        help=advice,
    )


def _backward(gradient: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        leaves = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            leaves[place] = tensor
        saved = tree_unflatten(leaves, ctx.kept)
        # Defaults at the end of a call were not given, so nobody asks for them.
        needed = dict(zip(names, ctx.needs_input_grad, strict=False))
        wanted = frozenset(name for name, asked in needed.items() if _any(asked))
        found = gradient(Call(saved, wanted), *grads)
        return tuple(
            found[n] if n in wanted else _none(asked) for n, asked in needed.items()
        )

    return backward
