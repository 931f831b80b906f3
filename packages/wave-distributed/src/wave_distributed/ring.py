"""The processes of a group as a ring, along which tensors are handed on."""

# Torch declares the types of few of its collectives.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from wave_core.diagnostics import capture_location, launch_error
from wave_distributed.symmetric import (
    MOST,
    Slot,
    SymmetricMemory,
    are_reachable,
    place_of,
    size_of,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

LONGEST = 512
"""Bytes of what the ranks tell each other of a call."""


LANES = 2
"""Parts that a tensor is best sent in: one is computed while another is under way."""


@dataclass(frozen=True)
class Passing:
    """Tensors that are under way to the next rank, and those from the previous rank.

    Attributes:
        ring: Whose ranks these are.
        works: The transfers.
        coming: Where the previous rank's tensors arrive.
        going: What is sent; it may not change before it is `received`.
    """

    ring: Ring
    works: tuple[Any, ...]
    coming: tuple[torch.Tensor, ...]
    going: tuple[torch.Tensor, ...]

    def received(self) -> torch.Tensor:
        """The previous rank's tensor, where one is handed on.

        Raises:
            LaunchError: WV0731 where a neighbour does not answer.
        """
        (found,) = self.all_received()
        return found

    def all_received(self) -> tuple[torch.Tensor, ...]:
        """The previous rank's tensors: on a GPU, as its stream will see them.

        Raises:
            LaunchError: WV0731 where a neighbour does not answer.
        """
        with self.ring.answered():
            for work in self.works:
                work.wait()
        return self.coming


@dataclass(frozen=True)
class Place:
    """Where a kernel puts what the next rank gets.

    Attributes:
        ring: Whose ranks these are.
        tensor: To be written, and not to be read.
        slot: Whose it is where the next rank reads it there.
    """

    ring: Ring
    tensor: torch.Tensor
    slot: Slot | None

    def passed(self) -> Passing:
        """Hand on what was written, and get what the previous rank wrote.

        Raises:
            LaunchError: WV0731 where a neighbour does not answer.
        """
        if self.slot is None:
            return self.ring.hand_on(self.tensor)
        return Passing(self.ring, (self.slot.memory.turn(),), self.slot.own, ())


@dataclass
class Known:
    """What the processes of a group have found out together.

    Attributes:
        agreed: Calls about which they did.
        memories: What GPUs share, by that of this process; ``None`` where one does not
            reach another, or tensors are of no GPU.
    """

    agreed: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    memories: dict[torch.device, SymmetricMemory | None] = field(
        default_factory=dict[torch.device, "SymmetricMemory | None"]
    )


@cache
def _known() -> weakref.WeakKeyDictionary[dist.ProcessGroup, Known]:
    """Of the groups that there are."""
    return weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Ring:
    """The ranks of a group, each between two others.

    Attributes:
        function: Who asks, for messages.
        group: The processes.
        rank: Of this process, within the group.
        size: How many there are.
        known: What they have found out.
    """

    function: str
    group: dist.ProcessGroup
    rank: int
    size: int
    known: Known

    @classmethod
    def of(cls, function: str, group: dist.ProcessGroup | None) -> Ring:
        """The ring of a group, by default of all processes.

        Raises:
            LaunchError: WV0731 where there is no group, or this process is not in it.
        """
        ready = dist.is_available() and dist.is_initialized()
        chosen = (group or dist.group.WORLD) if ready else None
        rank = dist.get_rank(chosen) if chosen else -1
        if chosen is None or rank < 0:
            raise launch_error(
                "WV0731",
                f"`{function}` is called outside of the group of processes",
                at=capture_location(),
                label="called here",
                help="call `torch.distributed.init_process_group` first, on every rank",
            )
        known = _known().setdefault(chosen, Known())
        return cls(function, chosen, rank, dist.get_world_size(chosen), known)

    def agree(self, *tensors: torch.Tensor, **others: object) -> None:
        """See that all ranks gave alike tensors, once for each kind of call.

        Raises:
            LaunchError: WV0730 where they did not, WV0731 where one does not answer.
        """
        told = [f"{tuple(each.shape)} of {each.dtype}" for each in tensors]
        said = ", ".join([*told, *(f"{name}={each}" for name, each in others.items())])
        if self.size == 1 or (self.function, said) in self.known.agreed:
            return
        heard = self._told(said, tensors[0].device)
        if set(heard) != {said}:
            rows = (f"rank {rank}: {each}" for rank, each in enumerate(heard))
            raise launch_error(
                "WV0730",
                f"`{self.function}`: the ranks disagree about the call",
                at=capture_location(),
                label="called here",
                notes=tuple(rows),
                help="give each rank a part of the same size and type",
            )
        self.known.agreed.add((self.function, said))

    def _told(self, said: str, device: torch.device) -> list[str]:
        """What each rank says."""
        data = said.encode()[:LONGEST].ljust(LONGEST)
        mine = torch.frombuffer(bytearray(data), dtype=torch.uint8).to(device)
        heard = mine.new_empty(self.size * LONGEST)
        self.gather(mine, heard)
        rows = (each.cpu().numpy().tobytes() for each in heard.chunk(self.size))
        return [row.decode().rstrip() for row in rows]

    def gather(self, mine: torch.Tensor, into: torch.Tensor) -> None:
        """Have each rank's tensor on every rank, one behind the other.

        Raises:
            LaunchError: WV0731 where one does not answer.
        """
        with self.answered():
            _gather_into(into, mine, self.group)

    def hand_on(self, *tensors: torch.Tensor) -> Passing:
        """Start to send tensors to the next rank, and to receive such, all at once.

        Raises:
            LaunchError: WV0731 where a neighbour does not answer.
        """
        memory = self._memory_for(tensors)
        with self.answered():
            if memory is not None:
                slot, turn = memory.copied(tensors)
                return Passing(self, (turn,), slot.own, tensors)
            coming = tuple(map(torch.empty_like, tensors))
            following = dist.get_global_rank(self.group, (self.rank + 1) % self.size)
            previous = dist.get_global_rank(self.group, (self.rank - 1) % self.size)
            sent = [dist.P2POp(dist.isend, t, following, self.group) for t in tensors]
            got = [dist.P2POp(dist.irecv, t, previous, self.group) for t in coming]
            works = dist.batch_isend_irecv([*sent, *got])
        return Passing(self, tuple(works), coming, tensors)

    def place(self, like: torch.Tensor) -> Place:
        """Where a kernel puts a tensor like this for the next rank.

        Raises:
            LaunchError: WV0731 where a neighbour does not answer.
        """
        memory = self._memory_for((like,))
        if memory is None:
            return Place(self, torch.empty_like(like), None)
        with self.answered():
            slot = memory.slot((like,))
        (tensor,) = slot.following
        return Place(self, tensor, slot)

    def lanes(self, like: torch.Tensor) -> int:
        """In how many parts kernels should compute what the next rank gets.

        Raises:
            LaunchError: WV0731 where a neighbour does not answer.
        """
        return 1 if self._memory_for((like,)) else LANES

    def _memory_for(self, tensors: Sequence[torch.Tensor]) -> SymmetricMemory | None:
        """What ranks share, where tensors like these are handed on by it."""
        device, memories = tensors[0].device, self.known.memories
        if device not in memories:
            memories[device] = self._shared(device)
        return memories[device] if size_of(tensors) <= MOST else None

    def _shared(self, device: torch.device) -> SymmetricMemory | None:
        """What all ranks share; ``None`` where one of them does not reach another."""
        if not are_reachable(self._told(place_of(device), device)):
            return None
        try:
            found = SymmetricMemory(self.group, device)
        except (RuntimeError, ImportError):
            found = None
        return found if all(self._told("shares" * bool(found), device)) else None

    @contextmanager
    def answered(self) -> Generator[None]:
        """While others have to answer.

        Raises:
            LaunchError: WV0731 where one of them does not.
        """
        try:
            yield
        except RuntimeError as error:
            reason = str(error).strip().splitlines() or ["no reason given"]
            raise launch_error(
                "WV0731",
                f"`{self.function}`: a rank of the group does not answer",
                at=capture_location(),
                label=f"rank {self.rank} of {self.size} waits here",
                notes=(reason[0],),
                help="look for what the other ranks say",
            ) from error


def _gather_into(
    into: torch.Tensor, mine: torch.Tensor, group: dist.ProcessGroup
) -> None:
    """Each rank's tensor behind the other, by what this version of torch calls it."""
    newest = getattr(dist, "all_gather_single", None)
    gather = newest or getattr(dist, "all_gather_into_tensor")  # noqa: B009
    gather(into, mine, group=group)
