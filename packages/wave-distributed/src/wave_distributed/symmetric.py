"""Memory of each rank that the previous one of its ring writes to.

GPUs of one host reach each other's memory. What kernels store and copy engines move
gets there while multiprocessors compute, and no kernel of a collective takes any of
these away.
"""

# Torch declares the types of few of its collectives, and of no symmetric memory.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.distributed import ProcessGroup

SLOTS = 3
"""Turns whose tensors are there at once. Kernels that read what a turn brings are
enqueued ahead of the turn after the next. So who has heard of a turn knows that every
rank has read what the turn before the previous one brought."""

MOST = 1 << 29
"""Bytes of a slot; more at once go by messages."""

_ALIGNED = 512
"""Bytes that each tensor of a slot begins at a multiple of."""

_TORCH = "torch.distributed._symmetric_memory"


def place_of(device: torch.device) -> str:
    """The host and the GPU of a rank; empty where others do not reach its memory."""
    if device.type != "cuda" or torch.version.cuda is None:
        return ""
    return f"{platform.node()} {torch.cuda.get_device_properties(device).uuid}"


def are_reachable(places: Sequence[str]) -> bool:
    """Whether these are GPUs of one host, each another."""
    hosts = {place.partition(" ")[0] for place in places}
    return all(places) and len(hosts) == 1 and len({*places}) == len(places) > 1


def spread(
    group: ProcessGroup, size: int, device: torch.device
) -> tuple[list[torch.Tensor], object]:
    """So many bytes of every rank, as this one reaches them, and what keeps them there.

    Raises:
        RuntimeError: where it does not.
    """
    symmetric = import_module(_TORCH)
    mine = symmetric.empty(size, dtype=torch.uint8, device=device)
    handle = symmetric.rendezvous(mine, group)
    ranks = range(handle.world_size)
    found = [handle.get_buffer(rank, (size,), torch.uint8) for rank in ranks]
    return found, (mine, handle)


@dataclass(frozen=True)
class Slot:
    """Tensors of a turn.

    Attributes:
        memory: That they are in.
        following: In the memory of the next rank, for this one to write.
        own: In this rank's memory, which the previous one writes.
    """

    memory: SymmetricMemory
    following: tuple[torch.Tensor, ...]
    own: tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Turn:
    """A turn that this rank has done its part of.

    Attributes:
        memory: Whose turn it is.
        stream: On which its part is.
    """

    memory: SymmetricMemory
    stream: Any

    def wait(self) -> None:
        """Let the caller's stream go on when every rank has done its part.

        Raises:
            RuntimeError: where a rank does not answer.
        """
        self.memory.hear(self.stream)


class SymmetricMemory:
    """Slots in the memory of every rank of a group, which take turns."""

    def __init__(self, group: ProcessGroup, device: torch.device) -> None:
        """Have small ones.

        Raises:
            RuntimeError: where ranks do not reach each other's memory.
        """
        self._group, self._device = group, device
        self._streams = torch.get_device_module(device)
        # Kernels that fill the GPU leave a copy of less priority nothing.
        self._copying = self._streams.Stream(priority=-1)
        self._latest = self._streams.current_stream()
        self._word = torch.zeros(1, device=device)
        self._turn = 0
        self._bytes = _ALIGNED
        self._memories, self._kept = spread(group, SLOTS * self._bytes, device)

    def slot(self, likes: Sequence[torch.Tensor]) -> Slot:
        """Room for tensors like these, which are all that this turn hands on.

        Raises:
            RuntimeError: where a rank does not answer.
        """
        self._follow()
        if size_of(likes) > self._bytes:
            self._grow(size_of(likes))
        self._turn += 1
        rank = dist.get_rank(self._group)
        following = (rank + 1) % len(self._memories)
        places = self._tensors(following, likes), self._tensors(rank, likes)
        return Slot(self, *places)

    def copied(self, tensors: Sequence[torch.Tensor]) -> tuple[Slot, Turn]:
        """Have copy engines bring tensors to the next rank.

        Raises:
            RuntimeError: where a rank does not answer.
        """
        slot = self.slot(tensors)
        self._copying.wait_stream(self._streams.current_stream())
        with self._streams.stream(self._copying):
            for place, tensor in zip(slot.following, tensors, strict=True):
                place.copy_(tensor)
            return slot, self.turn()

    def turn(self) -> Turn:
        """What the caller's stream has up to here, as this rank's part of a turn."""
        return Turn(self, self._streams.current_stream())

    def hear(self, stream: Any) -> None:
        """Order the caller's stream behind what every rank has in such a stream.

        Raises:
            RuntimeError: where a rank does not answer.
        """
        with self._streams.stream(stream):
            work: Any = dist.all_reduce(self._word, group=self._group, async_op=True)
            work.wait()  # of a collective that is not asynchronous, NCCL tells no end
        self._streams.current_stream().wait_stream(stream)

    def _tensors(
        self, rank: int, likes: Sequence[torch.Tensor]
    ) -> tuple[torch.Tensor, ...]:
        """Those of this turn in a rank's memory."""
        start = self._turn % SLOTS * self._bytes
        memory = self._memories[rank][start : start + self._bytes]
        begins = (0, *_ends(likes))
        return tuple(
            memory[begin : begin + like.nbytes].view(like.dtype).view(like.shape)
            for begin, like in zip(begins, likes, strict=False)
        )

    def _follow(self) -> None:
        """Order the caller's stream behind that of the previous call."""
        now = self._streams.current_stream()
        now.wait_stream(self._latest)
        self._latest = now

    def _grow(self, least: int) -> None:
        """Have larger slots, when nobody uses the smaller ones any more."""
        self._streams.synchronize()
        dist.barrier(self._group)
        self._memories, self._kept = [], None
        self._bytes = 1 << (least - 1).bit_length()
        size = SLOTS * self._bytes
        self._memories, self._kept = spread(self._group, size, self._device)


def size_of(tensors: Sequence[torch.Tensor]) -> int:
    """Bytes of a slot that has tensors like these."""
    return (0, *_ends(tensors))[-1]


def _ends(tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
    """Where there is room behind each for the next one to begin."""
    sizes = (-(-each.nbytes // _ALIGNED) * _ALIGNED for each in tensors)
    return tuple(accumulate(sizes))
