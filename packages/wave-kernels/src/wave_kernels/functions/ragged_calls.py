"""What calls of attention of sequences have in common, one behind the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.attention import Heads
from wave_kernels.definitions.attention_tiles import ROOM
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.attention_calls import (
    HALVES,
    check_heads,
    factor_of,
    scoring_of,
)
from wave_kernels.functions.launches import DTYPES
from wave_kernels.functions.options import whole

if TYPE_CHECKING:
    from collections.abc import Mapping

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

Rows = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Queries, keys and values."""

DYNAMIC = ("TOKENS", "SLOTS", "B")
"""What differs from launch to launch."""


@dataclass(frozen=True)
class Sequences:
    """The arguments of `attention_varlen` that say which rows see which, and how."""

    query_starts: torch.Tensor
    key_starts: torch.Tensor
    max_queries: int
    max_keys: int
    causal: bool
    window: int | None
    slopes: torch.Tensor | None
    softcap: float | None
    scale: float | None
    checked: bool
    table: torch.Tensor | None = None
    tree: torch.Tensor | None = None


@dataclass(frozen=True)
class RaggedCall:
    """One call, seen to fit.

    Attributes:
        given: Refuses what does not.
        sizes: What the shapes say: T, H, K1, S, KVH, N.
        most: Of the queries and of the keys of a sequence.
        operands: Queries, keys, values, starts, then a table, a tree and slopes where
            there are any.
        what: What kernels are asked for.
    """

    given: Arguments
    sizes: Mapping[str, int]
    most: tuple[int, int]
    operands: tuple[torch.Tensor, ...]
    what: Mapping[str, Any]

    @classmethod
    def of(cls, function: str, rows: Rows, sequences: Sequences) -> RaggedCall:
        """The call of a function with these.

        Raises:
            LaunchError: WV0704 to WV0708, WV0714 for arguments that do not fit.
        """
        given = Arguments.of(function, "query", rows[0], HALVES)
        sizes, own = _sizes(given, *rows), sequences
        starts = {"query_starts": own.query_starts, "key_starts": own.key_starts}
        operands = _operands(given, sizes, rows, starts, own.table)
        most = _most(given, own.max_queries, own.max_keys)
        if own.checked:
            _check_numbers(given, starts, most, sizes, own.table)
        scoring = scoring_of(given, own.window, own.softcap, causal=own.causal)
        operands += _added(given, sizes, own.tree, own.slopes, most[0])
        dtype = DTYPES[given.first.dtype]
        what = {
            "scale": factor_of(given, own.scale, sizes["K1"]),
            "heads": Heads("bshd", sizes["H"] // max(sizes["KVH"], 1), dtype, dtype),
            "scoring": replace(scoring, alibi=own.slopes is not None),
        }
        return cls(given, sizes, most, tuple(operands), what)

    @property
    def output(self) -> tuple[int, int, int]:
        """The shape of the result."""
        return (self.sizes["T"], self.sizes["H"], self.sizes["N"])

    @property
    def sums(self) -> tuple[int, int]:
        """Of the sums of powers of each row, head by head."""
        return (self.sizes["H"], self.sizes["T"])

    @property
    def empty(self) -> bool:
        """Whether no query can see a key."""
        return not all(self.sums) or len(self.operands[3]) < 2 or min(self.most) < 1

    @property
    def symbols(self) -> dict[str, int]:
        """By the names that kernels have for them; one head a workgroup."""
        sizes = self.sizes
        names = ["H", "K1", "N", *(["KVH"] if sizes["KVH"] != sizes["H"] else [])]
        found = {name: sizes[name] for name in names}
        return found | {"BLOCK_B": 1, "BLOCK_H": 1}

    def tiles_of_queries(self) -> dict[str, int]:
        """The rows of a workgroup are queries: as many as a sequence may have."""
        return {"M": power_of_two(self.most[0]), "K2": room_for(self.most[1])}

    def tiles_of_keys(self) -> dict[str, int]:
        """They are keys."""
        return {"M": room_for(self.most[0]), "K2": power_of_two(self.most[1])}


def _most(given: Arguments, queries: int, keys: int) -> tuple[int, int]:
    """Of the queries and of the keys of a sequence."""
    queries = whole(given, "max_queries", queries, 0)
    return queries, whole(given, "max_keys", keys, 0)


def _sizes(given: Arguments, query: Any, key: Any, value: Any) -> dict[str, int]:
    """What the shapes say, before they are compared with each other."""
    t, h, d = shape_of(given, "query", query, "thd")
    s, kvh, _ = shape_of(given, "key", key, "shd")
    *_, dv = shape_of(given, "value", value, "shd")
    check_heads(given, h, kvh, d, dv)
    return {"T": t, "H": h, "K1": d, "S": s, "KVH": kvh, "N": dv}


def _operands(
    given: Arguments,
    sizes: Mapping[str, int],
    rows: Rows,
    starts: Mapping[str, Any],
    table: Any,
) -> list[torch.Tensor]:
    """Those of the kernel up to the table, seen to fit."""
    query, key, value = rows
    return [
        given.tensor("query", query, query.shape),
        given.tensor("key", key, (sizes["S"], sizes["KVH"], sizes["K1"])),
        given.tensor("value", value, (sizes["S"], sizes["KVH"], sizes["N"])),
        *_starts(given, starts, table),
    ]


def _starts(
    given: Arguments, starts: Mapping[str, Any], table: Any
) -> list[torch.Tensor]:
    """Starts of equally many sequences, and the table where there is one."""
    first = starts["query_starts"]
    ends = first.shape[0] if isinstance(first, torch.Tensor) and first.ndim else 0
    found = [given.tensor(n, t, (ends,), torch.int32) for n, t in starts.items()]
    if not ends:
        given.refuse("WV0707", "`query_starts` is empty", "it has one number, or more")
    if table is None:
        return found
    rows = table.numel() if isinstance(table, torch.Tensor) else 0
    return [*found, given.tensor("table", table, (rows,), torch.int32)]


def _added(
    given: Arguments, sizes: Mapping[str, int], tree: Any, slopes: Any, width: int
) -> list[torch.Tensor]:
    """Which draft each query sees, a byte each, and slopes, where there are any."""
    found: list[torch.Tensor] = []
    if tree is not None:
        wide = (
            isinstance(tree, torch.Tensor) and tree.ndim == 2 and tree.shape[1] > width
        )
        shape = (sizes["T"], tree.shape[1] if wide else width)
        found.append(given.tensor("tree", tree, shape, torch.bool).view(torch.int8))
    if slopes is not None:
        found.append(given.tensor("slopes", slopes, (sizes["H"],), torch.float32))
    return found


def _check_numbers(
    given: Arguments,
    starts: Mapping[str, torch.Tensor],
    most: tuple[int, int],
    sizes: Mapping[str, int],
    table: torch.Tensor | None,
) -> None:
    """See that no number leads outside of the tensors."""
    rows = {"query_starts": sizes["T"], "key_starts": sizes["S"]}
    if table is not None:
        rows["key_starts"] = table.shape[0]
    for (name, numbers), longest in zip(starts.items(), most, strict=True):
        check_starts(given, name, numbers, longest, rows[name])
    if table is not None:
        given.check_rows("table", table, "key", sizes["S"])


def check_starts(
    given: Arguments, name: str, starts: torch.Tensor, most: int, rows: int
) -> None:
    """See that sequences lie within the rows, and are as long as is said at most.

    Raises:
        LaunchError: WV0707 where they do not, or are longer.
    """
    numbers = [int(each) for each in starts.cpu()]
    lengths = [end - start for start, end in pairwise(numbers)]
    if numbers[0] < 0 or numbers[-1] > rows or min(lengths, default=0) < 0:
        what = f"`{name}` does not ascend from 0 or more to {rows} or less"
        given.refuse(
            "WV0707", what, "it has the first row of each sequence, and an end"
        )
    if name == "query_starts" and (numbers[0], numbers[-1]) != (0, rows):
        what = f"`{name}` goes from {numbers[0]} to {numbers[-1]}"
        given.refuse("WV0707", what, f"each query belongs to a sequence: 0 to {rows}")
    if max(lengths, default=0) > most:
        what = f"`{name}` has a sequence of {max(lengths)} rows"
        given.refuse("WV0707", what, f"the most is given as {most}; give a larger one")


def power_of_two(count: int) -> int:
    """The power of two that holds so many, so that few kernels are compiled."""
    return 1 << (count - 1).bit_length()


def room_for(rows: int) -> int:
    """The size of a loop over so many rows at most: one number for nearly all."""
    return max(ROOM, power_of_two(rows))
