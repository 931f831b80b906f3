"""Boxes that are copied to shared memory at once, and waited for by groups.

What the workgroup copies between two barriers is a group, as it is where each thread
copies for itself. A group has a barrier in memory, which counts its bytes: the groups
go around a ring of them. One thread issues all copies, and says where a group ends;
every thread counts groups, and waits for those that it was told to.

Source: PTX ISA, mbarrier and cp.async.bulk.tensor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.memories import Space
from wave_core.backends.emission import BoxedMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_backend_nvgpu.codegen.instructions import LlvmInstructions

RING = 16
"""Groups that may be on their way; a wait that leaves more leaves so many but one."""

WORD = 8
"""Bytes of a barrier in memory."""

ISSUED, DONE = "%groups_issued", "%groups_done"
"""Places of two numbers, which LLVM keeps in registers."""

FENCE = "fence.mbarrier_init.release.cluster;"
WAIT = (
    "{ .reg .pred p; WAIT_${:uid}: mbarrier.try_wait.parity.shared::cta.b64 p, [$0],"
    " $1; @!p bra WAIT_${:uid}; }"
)


@dataclass
class Boxes:
    """The copies of boxes of one kernel.

    Attributes:
        make: Where text goes.
        ring: The pointer to the barriers.
        maps: The parameters that describe memories, by what is copied of them.
    """

    make: LlvmInstructions
    ring: str
    maps: dict[BoxedMemory, str] = field(default_factory=dict[BoxedMemory, str])

    def begin(self) -> None:
        """Make the barriers; all threads have to meet before somebody waits."""
        for name in (ISSUED, DONE):
            self.make.line(f"{name} = alloca i32")
            self._store(0, name)
        test = self.make.op(f"icmp ult i32 {self._thread()}, {RING}", 0)
        with self.make.region() as block:
            place = self._barrier(self._thread())
            self._do("mbarrier.init.shared::cta.b64 [$0], 1;", ("r", place))
            self._do(FENCE)
        self.make.branch(test, block)

    def copy(
        self, memory: BoxedMemory, target: str, start: Sequence[str], size: int
    ) -> None:
        """Copy a box, in the name of all threads.

        Args:
            memory: What is copied of which memory.
            target: The pointer to where the box goes.
            start: Its coordinates, the innermost last.
            size: Its bytes.
        """
        with self.make.region() as block:
            bar = self._barrier(self._load(ISSUED))
            expect = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64"
            self._do(f"{expect} [$0], {size};", ("r", bar))
            self._issue(memory, target, start, bar)
        self.make.branch(self._first(), block)

    def _issue(
        self, memory: BoxedMemory, target: str, start: Sequence[str], bar: str
    ) -> None:
        rank = len(start)
        name = self.maps.setdefault(memory, f"%m{len(self.maps)}")
        local, cluster = Space.LDS.pointer, "ptr addrspace(7)"
        place = self.make.op(f"addrspacecast {local} {target} to {cluster}")
        pointer = self.make.op(f"inttoptr i32 {bar} to {local}")
        self.make.call(
            f"llvm.nvvm.cp.async.bulk.tensor.g2s.tile.{rank}d",
            "void",
            [
                (cluster, place),
                (local, pointer),
                ("ptr", name),
                *[("i32", each) for each in reversed(start)],
                *[("i16", "0"), ("i64", "0"), ("i1", "0"), ("i1", "0"), ("i32", "0")],
            ],
        )

    def close(self, left: int | None) -> None:
        """End a group; wait until at most so many of the groups are on their way."""
        issued = self._load(ISSUED)
        with self.make.region() as block:
            text = "mbarrier.arrive.release.cta.shared::cta.b64 _, [$0];"
            self._do(text, ("r", self._barrier(issued)))
        self.make.branch(self._first(), block)
        self._store(self.make.op(f"add i32 {issued}, 1"), ISSUED)
        left = RING - 1 if left is None else min(left, RING - 1)
        self._wait(self.make.op(f"sub i32 {issued}, {left}"))

    def _wait(self, last: str) -> None:
        """Wait for all groups up to that number which nobody has waited for."""
        with self.make.region() as head:
            done = self._load(DONE)
            more = self.make.op(f"icmp sle i32 {done}, {last}")
        with self.make.region() as body:
            phase = self.make.op(f"lshr i32 {done}, {RING.bit_length() - 1}")
            parity = self.make.op(f"and i32 {phase}, 1")
            self._do(WAIT, ("r", self._barrier(done)), ("r", parity))
            self._store(self.make.op(f"add i32 {done}, 1"), DONE)
        after = self.make.label()
        self.make.splice(
            f"br label %{head.entry}",
            head,
            f"br i1 {more}, label %{body.entry}, label %{after}",
            body,
            f"br label %{head.entry}",
            f"{after}:",
        )

    def _first(self) -> str:
        """Whether the thread is the one that issues copies."""
        make = self.make
        return make.once(
            ("issues",), lambda: make.op(f"icmp eq i32 {self._thread()}, 0", 0), 0
        )

    def _thread(self) -> str:
        make = self.make
        return make.once(
            ("thread",),
            lambda: make.call("llvm.nvvm.read.ptx.sreg.tid.x", "i32", (), 0),
            0,
        )

    def _barrier(self, number: str) -> str:
        """The address of a group's barrier."""
        make = self.make
        slot = make.op(f"and i32 {number}, {RING - 1}")
        first = make.once(
            ("ring",),
            lambda: make.op(f"ptrtoint {Space.LDS.pointer} {self.ring} to i32", 0),
            0,
        )
        return make.op(f"add i32 {first}, {make.op(f'shl i32 {slot}, 3')}")

    def _load(self, name: str) -> str:
        return self.make.op(f"load i32, ptr {name}")

    def _store(self, value: str | int, name: str) -> None:
        self.make.line(f"store i32 {value}, ptr {name}")

    def _do(self, text: str, *given: tuple[str, str]) -> None:
        """An instruction by its text, which orders memory."""
        rules = [rule for rule, _ in given]
        self.make.assembly(text, rules, [f"i32 {name}" for _, name in given])
