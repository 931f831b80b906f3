"""The processes of a group as a ring, along which tensors are handed on."""

# Torch declares the types of few of its collectives.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from wave_core.compile import default_session
from wave_core.diagnostics import capture_location, launch_error

if TYPE_CHECKING:
    from collections.abc import Generator

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

LONGEST = 512
"""Bytes of what the ranks tell each other of a call."""


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
class Ring:
    """The ranks of a group, each between two others.

    Attributes:
        function: Who asks, for messages.
        group: The processes; ``None`` for all.
        rank: Of this process, within the group.
        size: How many there are.
    """

    function: str
    group: dist.ProcessGroup | None
    rank: int
    size: int

    @classmethod
    def of(cls, function: str, group: dist.ProcessGroup | None) -> Ring:
        """The ring of a group.

        Raises:
            LaunchError: WV0731 where there is no group, or this process is not in it.
        """
        ready = dist.is_available() and dist.is_initialized()
        rank = dist.get_rank(group) if ready else -1
        if rank < 0:
            raise launch_error(
                "WV0731",
                f"`{function}` is called outside of the group of processes",
                at=capture_location(),
                label="called here",
                help="call `torch.distributed.init_process_group` first, on every rank",
            )
        return cls(function, group, rank, dist.get_world_size(group))

    def agree(self, *tensors: torch.Tensor, **others: object) -> None:
        """See that all ranks gave alike tensors, once for each kind of call.

        Raises:
            LaunchError: WV0730 where they did not, WV0731 where one does not answer.
        """
        told = [f"{tuple(each.shape)} of {each.dtype}" for each in tensors]
        said = ", ".join([*told, *(f"{name}={each}" for name, each in others.items())])
        name = self.group.group_name if self.group else ""
        key = ("agreed", self.function, name, self.size, said)
        session = default_session()
        if self.size == 1 or session.remembered(key):
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
        session.remember(key, heard)

    def _told(self, said: str, device: torch.device) -> list[str]:
        """What each rank says."""
        data = said.encode()[:LONGEST].ljust(LONGEST)
        mine = torch.frombuffer(bytearray(data), dtype=torch.uint8).to(device)
        heard = [torch.empty_like(mine) for _ in range(self.size)]
        self.gather(mine, heard)
        rows = (each.cpu().numpy().tobytes() for each in heard)
        return [row.decode().rstrip() for row in rows]

    def gather(self, mine: torch.Tensor, into: list[torch.Tensor]) -> None:
        """Have each rank's tensor on every rank.

        Raises:
            LaunchError: WV0731 where one does not answer.
        """
        with self.answered():
            dist.all_gather(into, mine, group=self.group)

    def hand_on(self, *tensors: torch.Tensor) -> Passing:
        """Start to send tensors to the next rank, and to receive such, all at once.

        Raises:
            LaunchError: WV0731 where a neighbour does not answer.
        """
        coming = tuple(map(torch.empty_like, tensors))
        group = self.group or dist.group.WORLD
        assert group is not None, "`of` has seen it"
        following = dist.get_global_rank(group, (self.rank + 1) % self.size)
        previous = dist.get_global_rank(group, (self.rank - 1) % self.size)
        with self.answered():
            sent = [dist.P2POp(dist.isend, t, following, self.group) for t in tensors]
            got = [dist.P2POp(dist.irecv, t, previous, self.group) for t in coming]
            works = dist.batch_isend_irecv([*sent, *got])
        return Passing(self, tuple(works), coming, tensors)

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
