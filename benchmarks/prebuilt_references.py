"""What prebuilt kernels have to give, by torch in f64: a reference for each function.

A reference draws the arguments of one kernel of a wheel, at sizes that it was not made
for, as `wave_kernels.prebuilt.kernels` lists it, and says what its outputs have to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Any

import torch
import torch.nn.functional as torch_functions

DTYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i32": torch.int32,
    "i8": torch.int8,
}
ULP = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}

LOG2_E = 1 / log(2)
PARTS = 3
"""In which a sequence is cut."""

POISON = -(1 << 30)

Tensors = Sequence[torch.Tensor]


@dataclass(frozen=True)
class Wanted:
    """What the outputs of a kernel have to be.

    Attributes:
        shapes: Of the outputs, in the order of the call.
        values: In f64, or whole numbers, of what is compared.
        accuracy: That is promised of each, besides rounding.
        compared: What is compared, where it is not the outputs as they are.
    """

    shapes: Sequence[Sequence[int]]
    values: Tensors
    accuracy: Sequence[float]
    compared: Callable[[Tensors], Tensors] = tuple

    @classmethod
    def one(cls, values: torch.Tensor, accuracy: float) -> Wanted:
        """A single output."""
        return cls((values.shape,), (values,), (accuracy,))

    @classmethod
    def several(cls, *rows: tuple[torch.Tensor, float]) -> Wanted:
        """Outputs, each with its accuracy."""
        values, accuracy = zip(*rows, strict=True)
        return cls([each.shape for each in values], values, accuracy)

    def far(self, outputs: Tensors) -> Iterator[tuple[float, float]]:
        """How far off what is compared is, and how far it may be."""
        rows = zip(self.compared(outputs), self.values, self.accuracy, strict=True)
        for found, values, accuracy in rows:
            scale = max(1.0, float(values.abs().max()))
            limit = accuracy + ULP.get(found.dtype, 0.0) * scale
            yield float((found.double() - values.double()).abs().max()), limit


Reference = tuple[list[Any], Wanted]


@dataclass(frozen=True)
class Draw:
    """Fresh arguments for a kernel.

    Attributes:
        row: The kernel, as `wave_kernels.prebuilt.kernels` has it.
        device: Where tensors are made.
        most: Rows of a matrix, of which many give the same as few.
    """

    row: Mapping[str, Any]
    device: str
    most: int

    @property
    def options(self) -> Mapping[str, Any]:
        """Which one of the function it is."""
        return self.row["options"]

    @property
    def group(self) -> int:
        """Heads of queries that share one of keys."""
        return self.options.get("group", 1)

    def size(self, name: str, otherwise: int) -> int:
        """That of a symbol, where the kernel was compiled for one."""
        return self.row["sizes"].get(name, otherwise)

    def dtype(self, tensor: int) -> torch.dtype:
        """The type of one of its tensors, outputs last."""
        return DTYPES[self.row["tensors"][tensor].split(" ", 1)[0]]

    def new(self, *shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        """Normal numbers; of the type of the first tensor by default."""
        found = torch.randn(shape, device=self.device)
        return found.to(self.dtype(0) if dtype is None else dtype)

    def below(self, end: int, *shape: int) -> torch.Tensor:
        """Whole numbers from 0 up to an end, that is none of them."""
        found = torch.randint(end, shape, device=self.device)
        return found.to(torch.int32)

    def whole(self, numbers: Sequence[int]) -> torch.Tensor:
        """These numbers, as i32."""
        return torch.tensor(numbers, dtype=torch.int32, device=self.device)

    def picked(self, end: int, count: int) -> torch.Tensor:
        """So many different numbers, in no order."""
        return torch.randperm(end, device=self.device)[:count].int()

    def outputs(self, wanted: Wanted) -> Tensors:
        """Poisoned ones: NaN, or a number that no output has."""
        first = len(self.row["tensors"]) - len(wanted.shapes)
        dtypes = (self.dtype(first + i) for i in range(len(wanted.shapes)))
        return [
            torch.full(
                tuple(shape),
                torch.nan if dtype.is_floating_point else POISON,
                dtype=dtype,
                device=self.device,
            )
            for shape, dtype in zip(wanted.shapes, dtypes, strict=True)
        ]


def called(
    kernel: Callable[..., None], draw: Draw, given: Sequence[Any], wanted: Wanted
) -> list[tuple[float, float]]:
    """How far off what a kernel writes is, and how far it may be, for each output."""
    outputs = draw.outputs(wanted)
    kernel(*given, *outputs)
    return [*wanted.far(outputs)]


# ----------------------------------------------------------------------- of rows


def softmax(draw: Draw) -> Reference:
    x = draw.new(draw.most, draw.size("N", 77))
    return [x], Wanted.one(x.double().softmax(-1), 1e-5)


def rms_norm(draw: Draw) -> Reference:
    n = draw.size("N", 77)
    x, weight = draw.new(draw.most, n), draw.new(n)
    root = (x.double().square().mean(-1, keepdim=True) + 1e-5).sqrt()
    wanted = x.double() / root * weight.double()
    return [x, weight, 1e-5], Wanted.one(wanted, 1e-5)


def layer_norm(draw: Draw) -> Reference:
    n = draw.size("N", 77)
    x, weight, bias = draw.new(draw.most, n), draw.new(n), draw.new(n)
    wide = [each.double() for each in (x, weight, bias)]
    wanted = torch_functions.layer_norm(wide[0], (n,), *wide[1:])
    return [x, weight, bias, 1e-5], Wanted.one(wanted, 1e-5)


def gated_activation(draw: Draw) -> Reference:
    x = draw.new(draw.most, 2 * 77)
    gate, up = x.double().chunk(2, -1)
    apply = getattr(torch_functions, draw.options["activation"])
    return [x], Wanted.one(apply(gate) * up, 1e-5)


def gather_rows(draw: Draw) -> Reference:
    table, indices = draw.new(57, 77), draw.below(57, draw.most)
    return [table, indices], Wanted.one(table[indices.long()].double(), 0.0)


def rotary_embedding(draw: Draw) -> Reference:
    tokens, positions, d = draw.most, 57, draw.size("CHANNELS", 64)
    x, places = draw.new(tokens, 3, d), draw.below(positions, tokens)
    angles = draw.new(positions, d // 2, dtype=torch.float32)
    cos, sin = angles.cos(), angles.sin()
    c, s = (each[places.long()].double()[:, None] for each in (cos, sin))
    a, b = x.double().chunk(2, -1)
    wanted = torch.cat((a * c - b * s, b * c + a * s), -1)
    return [x, cos, sin, places], Wanted.one(wanted, 1e-5)


def cross_entropy(draw: Draw) -> Reference:
    """One row, the last, does not count."""
    x, targets = draw.new(draw.most, 1003), draw.below(1003, draw.most)
    targets[-1] = ignored = -100
    wide = x.double()
    loss = torch_functions.cross_entropy(
        wide, targets.long(), ignore_index=ignored, reduction="none"
    )
    accuracy = 1e-5 * max(1.0, float(wide.abs().max()))
    results = (loss, accuracy), (wide.logsumexp(-1), accuracy)
    return [x, targets, ignored, 0.0], Wanted.several(*results)


# ---------------------------------------------------------------------- products


def matmul(draw: Draw) -> Reference:
    options = draw.options
    n, k = draw.size("N", 147), draw.size("K", 259)
    lead = (3,) if "batched" in options else ()
    a, b = draw.new(*lead, draw.most, k), draw.new(*lead, k, n)
    bias = [draw.new(n)] if options.get("bias") else []
    sums = a.double() @ b.double() + (bias[0].double() if bias else 0.0)
    word = options.get("activation")
    ended = getattr(torch_functions, word)(sums) if word else sums
    scale = float((a.double().abs() @ b.double().abs()).max())
    second = b.mT.contiguous() if options["layout"] == "NT" else b
    return [a, second, *bias], Wanted.one(ended, 1e-3 * scale)


def matmul_nbits(draw: Draw) -> Reference:
    """Weights are numbers of 4 bits without a sign, the lower of a byte first."""
    n, k = draw.size("N", 147), draw.size("K", 384)
    group = draw.options["group_size"]
    numbers, zeros = draw.below(16, n, k), draw.below(16, n, k // group)
    scales = draw.new(n, k // group)
    low, high = numbers[:, ::2], numbers[:, 1::2]
    stored = ((high << 4) | low).to(torch.uint8).view(torch.int8)
    wide = zeros, scales.double()
    zero, scale = (each.repeat_interleave(group, 1) for each in wide)
    a, weights = draw.new(draw.most, k), (numbers - zero) * scale
    sums, most = a.double() @ weights.mT, a.double().abs() @ weights.abs().mT
    arguments = [a, stored, scales, zeros.to(torch.int8)]
    return arguments, Wanted.one(sums, 1e-3 * float(most.max()))


def grouped_matmul(draw: Draw) -> Reference:
    arguments, starts = _of_experts(draw, draw.most)
    a, b, _ = arguments
    sums, scale = _of_groups(a, b, starts)
    return arguments, Wanted.one(sums, 1e-3 * scale)


def grouped_swiglu(draw: Draw) -> Reference:
    """Rows are picked, some of them for several groups; results are rounded once."""
    arguments, starts = _of_experts(draw, draw.most)
    a, b, _ = arguments
    rows = draw.below(len(a), starts[-1])
    gates, scale = _of_groups(a[rows.long()], b, starts)
    gate, up = gates.chunk(2, -1)
    wanted = torch_functions.silu(gate) * up
    # A factor that is off by 1e-3 of a sum is multiplied by the other.
    accuracy = 1e-3 * scale * max(1.0, float(gates.abs().max()))
    return [*arguments, rows], Wanted.one(wanted, accuracy)


def _of_experts(draw: Draw, rows: int) -> tuple[list[torch.Tensor], list[int]]:
    """Rows, weights and starts of groups, the first of which is empty."""
    experts, k = draw.size("E", 3), draw.size("K", 259)
    n = draw.size("N", 147) * (2 if draw.row["function"] == "grouped_swiglu" else 1)
    cuts = sorted(draw.below(rows + 1, experts - 1).tolist())
    starts = [0, 0, *cuts[1:], rows]
    b = torch.stack([draw.new(n, k) for _ in range(experts)])
    return [draw.new(rows, k), b, draw.whole(starts)], starts


def _of_groups(
    rows: torch.Tensor, weights: torch.Tensor, starts: Sequence[int]
) -> tuple[torch.Tensor, float]:
    """Products of each group's rows, and the largest sum of absolute products."""
    found: list[torch.Tensor] = []
    most = 0.0
    for group, (start, end) in enumerate(pairwise(starts)):
        if start == end:
            continue
        own, wide = rows[start:end].double(), weights[group].double()
        found.append(own @ wide.mT)
        most = max(most, float((own.abs() @ wide.abs().mT).max()))
    return torch.cat(found), most


# ------------------------------------------------------------------ of experts


def route_tokens(draw: Draw) -> Reference:
    logits = draw.new(draw.most, draw.options["experts"])
    chosen, experts = logits.double().topk(draw.options["top_k"], -1)
    results = (chosen.softmax(-1), 1e-5), (experts.int(), 0.0)
    return [logits], Wanted.several(*results)


def group_tokens(draw: Draw) -> Reference:
    count, choices = draw.options["experts"], draw.options["top_k"]
    experts = draw.below(count, draw.most * choices)
    pairs = experts.sort(stable=True).indices
    places = pairs.argsort()
    ends = torch.bincount(experts, minlength=count).cumsum(0)
    starts = torch.cat((ends.new_zeros(1), ends))
    results = (pairs // choices, places, starts)
    return [experts], Wanted.several(*((each.int(), 0.0) for each in results))


def combine_tokens(draw: Draw) -> Reference:
    n, choices = draw.size("N", 77), draw.options["top_k"]
    tokens = draw.most
    rows, places = draw.new(57, n), draw.below(57, tokens, choices)
    weights = draw.new(tokens, choices, dtype=torch.float32)
    taken = rows[places.long()].double()
    wanted = (weights.double()[..., None] * taken).sum(1)
    return [rows, places, weights], Wanted.one(wanted, 1e-5)


# ------------------------------------------------------------------- attention


def attention(draw: Draw) -> Reference:
    """Queries stand at the last keys; one may have parts of them, which are merged."""
    if "merge" in draw.options:
        return _merged(draw)
    m, s = draw.options.get("queries", draw.most), draw.most + 75
    heads = 2 * draw.group
    last = draw.options["layout"] == "bshd"
    d, dv = draw.size("K1", 64), draw.size("N", 64)
    q, k, v = (
        draw.new(2, *((n, x) if last else (x, n)), width)
        for x, n, width in ((heads, m, d), (2, s, d), (2, s, dv))
    )
    wide = [x.double().transpose(1, 2) if last else x.double() for x in (q, k, v)]
    wide[1:] = [each.repeat_interleave(draw.group, 1) for each in wide[1:]]
    seen = torch.ones(m, s, dtype=torch.bool, device=q.device)
    seen = seen.tril(s - m) if draw.options.get("causal") else seen
    found = torch_functions.scaled_dot_product_attention(*wide, attn_mask=seen)
    scores = wide[0] @ wide[1].mT * d**-0.5
    sums = scores.logsumexp(-1) * LOG2_E
    if last:
        found, sums = found.transpose(1, 2), sums.transpose(1, 2)
    if "parts" not in draw.options:
        return [q, k, v], Wanted.one(found, 8e-3)
    return [q, k, v], _in_parts(found, sums)


def _in_parts(results: torch.Tensor, sums: torch.Tensor) -> Wanted:
    """Of sequences, the first dimension; where parts end is the kernel's affair."""
    count, *rest = results.shape

    def compared(outputs: Tensors) -> Tensors:
        parts, weights = outputs[0].double(), outputs[1].double()
        return _mean(parts.view(count, PARTS, *rest), weights)

    shapes = (count * PARTS, *rest), (count, PARTS, *rest[:-1])
    return Wanted(shapes, (results, sums), (8e-3, 1e-2), compared)


@dataclass(frozen=True)
class Cache:
    """Sequences of different lengths, whose rows lie anywhere in a cache.

    Attributes:
        queries: ``[sequences, heads, D]``, one a sequence.
        keys: ``[slots, heads of keys, D]``; values are like them.
        ends: Where sequences start and end in the table.
        table: The slot of each row.
        results: Attention of each query, in f64.
        sums: Logarithms in base 2 of the sums of its powers.
    """

    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    ends: torch.Tensor
    table: torch.Tensor
    results: torch.Tensor
    sums: torch.Tensor


def _cache(draw: Draw) -> Cache:
    heads, d, dv = 2, draw.size("K1", 128), draw.size("N", 128)
    lengths = [1, 129, *((37 * i) % 200 for i in range(2, max(3, draw.most // 20)))]
    ends = [0, *(sum(lengths[: i + 1]) for i in range(len(lengths)))]
    q = draw.new(len(lengths), heads * draw.group, d)
    k, v = (draw.new(ends[-1] + 11, heads, width) for width in (d, dv))
    table = draw.picked(len(k), ends[-1])
    rows: list[torch.Tensor] = []
    sums: list[torch.Tensor] = []
    for query, (start, end) in zip(q.double(), pairwise(ends), strict=True):
        places = table[start:end].long()
        keys, values = (
            x[places].double().repeat_interleave(draw.group, 1).transpose(0, 1)
            for x in (k, v)
        )
        scores = query[:, None] @ keys.mT * d**-0.5
        rows.append((scores.softmax(-1) @ values)[:, 0])
        sums.append(scores.logsumexp(-1)[:, 0] * LOG2_E)
    own = torch.stack(rows), torch.stack(sums)
    return Cache(q, k, v, draw.whole(ends), table, *own)


def attention_varlen(draw: Draw) -> Reference:
    """Of one query a sequence."""
    cache = _cache(draw)
    starts = draw.whole(range(len(cache.ends)))
    operands = [cache.queries, cache.keys, cache.values]
    arguments = [*operands, starts, cache.ends, cache.table]
    return arguments, Wanted.one(cache.results, 8e-3)


def attention_decode(draw: Draw) -> Reference:
    """Of whole sequences, of parts of them, or what merges such parts."""
    if "merge" in draw.options:
        return _merged(draw)
    cache = _cache(draw)
    sequences, heads, d = cache.queries.shape
    rows = (sequences, heads // draw.group, draw.group)
    operands = [cache.queries.view(*rows, d), cache.keys, cache.values]
    arguments = [*operands, cache.ends, cache.table]
    wide = cache.results.view(*rows, -1)
    if "parts" not in draw.options:
        return arguments, Wanted.one(wide, 8e-3)
    return arguments, _in_parts(wide, cache.sums.view(rows))


def _merged(draw: Draw) -> Reference:
    """A part of a sequence has seen no key."""
    n, heads, sequences = draw.size("N", 128), 5, draw.most
    parts = draw.new(sequences, PARTS, heads, n)
    sums = draw.new(sequences, PARTS, heads) * 4
    sums[0, 1], parts[0, 1] = -torch.inf, 0.0
    found, _ = _mean(parts.double(), sums.double())
    return [parts, sums], Wanted.one(found, 1e-5 * float(parts.abs().max()))


def _mean(parts: torch.Tensor, sums: torch.Tensor) -> Tensors:
    """That of parts, dimension 1, whose weights are 2 to the power of sums; and all."""
    weights = (sums / LOG2_E).softmax(1)
    every = (sums / LOG2_E).logsumexp(1) * LOG2_E
    return (parts * weights[..., None]).sum(1), every


REFERENCES: Mapping[str, Callable[[Draw], Reference]] = {
    each.__name__: each
    for each in (
        *(softmax, rms_norm, layer_norm, gated_activation, gather_rows),
        *(rotary_embedding, cross_entropy, matmul, matmul_nbits),
        *(grouped_matmul, grouped_swiglu, route_tokens, group_tokens, combine_tokens),
        *(attention, attention_varlen, attention_decode),
    )
}
"""By the names of the functions."""
