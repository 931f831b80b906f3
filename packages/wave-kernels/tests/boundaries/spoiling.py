"""Calls of public functions with NaN and infinities in one argument after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as torch_functions
from attention_formula import attended

from boundaries import TABLE
from boundaries.attending import limit, operands
from boundaries.axes import SPOILER, ULP, Trial, greatest, random
from boundaries.multiplying import product
from boundaries.rows import LONGEST
from wave_kernels import functions

ODD = {
    "nan": (torch.nan,),
    "plus": (torch.inf,),
    "minus": (-torch.inf,),
    "mixed": (torch.nan, torch.inf, -torch.inf),
}
"""What stands in an argument, each at a place of its own."""

NO_FLOATS = frozenset({"group_tokens", "shuffle_scales", "shuffle_weights"})
"""Functions of whole numbers and bytes."""

BESIDE_ZEROS = {("conv2d_input", 1)}
"""Functions and arguments that meet zeros of places that do not exist."""

OF_RESULTS = {("attention_backward", 3), ("attention_varlen_backward", 3)}
"""Functions and gradients of results, whose infinities may stay what they are."""

SEED = 20261127


@dataclass(frozen=True)
class Call:
    """A function, what it is called with, and what is right.

    Attributes:
        function: Its name.
        trial: Takes a type and sizes by name.
        sizes: By name.
    """

    function: str
    trial: Callable[..., Trial]
    sizes: Mapping[str, Any]

    @classmethod
    def usual(cls, name: str, **others: int) -> Call:
        """One of the table, with other sizes."""
        sizes = {each: axis.usual for each, axis in TABLE[name].axes.items()}
        return cls(name, TABLE[name].trial, sizes | others)


def finished(dtype: torch.dtype, activation: str) -> Trial:
    """A product, a bias, an activation and a residual."""
    a, b = random(9, 37, dtype=dtype), random(37, 9, dtype=dtype)
    bias, residual = random(9, dtype=dtype), random(9, 9, dtype=dtype)
    sums, away = product(a, b)
    apply = getattr(torch_functions, activation)
    wanted = apply(sums + bias.double()) + residual.double()
    named = {"bias": bias, "activation": activation, "residual": residual}
    return Trial((a, b), (wanted,), (away,), named)


def rectified(dtype: torch.dtype) -> Trial:
    """Gates that are the greater of a number and 0, and what they let pass."""
    x = random(3, 38, dtype=dtype)
    gate, up = x.double().chunk(2, -1)
    wanted = torch_functions.relu(gate) * up
    return Trial((x,), (wanted,), (1e-5,), {"activation": "relu"})


def rectified_products(dtype: torch.dtype) -> Trial:
    """The same of products."""
    x, *both = (random(*each, dtype=dtype) for each in ((9, 9), (9, 5), (9, 5)))
    gate, up = (x.double() @ each.double() for each in both)
    wanted = torch_functions.relu(gate) * up
    away = 1e-3 * greatest(wanted)
    return Trial((x, *both), (wanted,), (away,), {"activation": "relu"})


def filtered(dtype: torch.dtype) -> Trial:
    """A convolution with a bias, two groups, and zeros around, as torch's has."""
    x, weight = random(2, 4, 6, 5, dtype=dtype), random(6, 2, 3, 2, dtype=dtype)
    bias, named = random(6, dtype=dtype), {"padding": 1, "groups": 2}
    wide = (x.double(), weight.double(), bias.double())
    wanted = torch_functions.conv2d(*wide, **named)
    away = 1e-3 * greatest(torch_functions.conv2d(*map(torch.abs, wide), **named))
    return Trial((x, weight, bias), (wanted,), (away,), named)


def scored(dtype: torch.dtype, **variant: Any) -> Trial:
    """Attention; what is hidden is seen by some."""
    query, key, value = operands(dtype, b=1, h=2, m=5, s=7, d=8, dv=9)
    tensors = {"bias": (1, 2, 5, 7), "slopes": (2,)}
    named = {
        name: random(*tensors[name], dtype=torch.float32 if name == "slopes" else dtype)
        if name in tensors
        else asked
        for name, asked in variant.items()
    }
    wanted = attended(query, key, value, **named)
    return Trial((query, key, value), (wanted,), (limit(value),), named)


def _calls() -> dict[str, Call]:
    """Every function; long rows, parts of keys, and further arguments."""
    found = {name: Call.usual(name) for name in sorted({*TABLE} - NO_FLOATS)}
    rows = ("cumsum", "layer_norm", "quantize_rows", "rms_norm", "softmax", "topk")
    found |= {f"{name} long": Call.usual(name, m=2, n=LONGEST + 1) for name in rows}
    found["attention parts"] = Call.usual("attention", m=1, s=600)
    found["decode parts"] = Call.usual("attention_decode", keys=1100)
    for word in ("gelu", "relu"):
        found[f"matmul {word}"] = Call("matmul", finished, {"activation": word})
    found["gated relu"] = Call("gated_activation", rectified, {})
    found["swiglu relu"] = Call("swiglu", rectified_products, {})
    found["conv2d filtered"] = Call("conv2d", filtered, {})
    variants = ({"softcap": 2.0}, {"bias": True}, {"slopes": True})
    for variant in variants:
        (word,) = variant
        found[f"attention {word}"] = Call("attention", scored, variant)
    return found


CALLS = _calls()
"""By a name of each."""


@dataclass
class Spoiler:
    """Puts odd numbers into one of the arguments that are drawn.

    Attributes:
        position: Which one; -1 for none.
        odd: The numbers.
        count: How many have been drawn.
    """

    position: int = -1
    odd: tuple[float, ...] = ()
    count: int = 0

    def __call__(self, numbers: torch.Tensor) -> None:
        if self.count == self.position:
            flat = numbers.view(-1)
            for i, value in enumerate(self.odd, 1):
                flat[len(flat) * i // (len(self.odd) + 1)] = value
        self.count += 1


def trial_of(call: Call, dtype: torch.dtype, spoiler: Spoiler) -> Trial:
    """The same one each time, but for what is spoiled."""
    torch.manual_seed(SEED)
    token = SPOILER.set(spoiler)
    try:
        return call.trial(dtype, **call.sizes)
    finally:
        SPOILER.reset(token)


def check(name: str, odd: str, place: int = 0) -> None:
    """See that results are NaN and infinite exactly where the formula says so.

    Args:
        name: Of a call.
        odd: What stands in its arguments.
        place: Of the type, among those of the function.
    """
    call, whole = CALLS[name], Spoiler()
    dtype = TABLE[call.function].dtypes[place]
    limits = trial_of(call, dtype, whole).limits
    for position in range(whole.count):
        trial = trial_of(call, dtype, Spoiler(position, ODD[odd]))
        found = getattr(functions, call.function)(*trial.arguments, **trial.named)
        results = found if isinstance(found, tuple) else (found,)
        rows = zip(results, trial.wanted, limits, strict=True)
        for mine, right, away in rows:
            # The docstrings say that NaN is 0 among whole numbers.
            wanted = right if mine.is_floating_point() else right.nan_to_num(0.0)
            if (name, position) in BESIDE_ZEROS:
                wanted = wanted.masked_fill(mine.isnan(), torch.nan)
            if (name, position) in OF_RESULTS:
                kept = mine.isinf() & wanted.isnan()
                wanted = torch.where(kept, mine.double(), wanted)
            torch.testing.assert_close(
                mine.double(),
                wanted.to(mine.dtype).double() if away else wanted,
                rtol=ULP.get(mine.dtype, 0.0) if away else 0.0,
                atol=away,
                equal_nan=True,
                msg=lambda text, at=position: f"argument {at}: {text}",
            )
