"""A loaded kernel, called with arrays and numbers."""

from __future__ import annotations

import struct
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from wave_runtime.arrays import glances, view
from wave_runtime.devices import targets_of
from wave_runtime.errors import DeviceError, LaunchRefused, Misfit
from wave_runtime.kernarg import INTEGERS, scalar_packer
from wave_runtime.plan import Plan, Planner

if TYPE_CHECKING:
    from wave_runtime.artifact import Artifact
    from wave_runtime.devices import Buffer, Device

    Seen: TypeAlias = tuple[Sequence[int], tuple[Hashable, ...]]
    """Addresses of the arrays in the order of parameters, and a key of all else."""

    Last: TypeAlias = tuple[Hashable, Plan, Sequence[int], tuple[Buffer, ...]]
    """A launch that fits: the key, its plan, the addresses, checked buffers."""

KEPT_PLANS = 64
"""Plans that a kernel keeps, by what is alike in the arguments of launches."""

ALIGNMENT = 16
"""Bytes that every address is a multiple of: the widest access of a lane."""


_NO_PLAN = Plan((0, 0, 0), empty=True, parts=(), lengths=())
"""Before the first launch."""


class LoadedKernel:
    """A kernel on a device.

    Call it with one argument for each parameter: arrays that live where the device
    can reach them, and numbers. Outputs are written in place.
    """

    def __init__(self, artifact: Artifact, device: Device) -> None:
        """Load the code.

        Raises:
            ArtifactError: where the manifest has an expression that is none.
            DeviceError: where the device is of another architecture, or refuses.
        """
        manifest = artifact.manifest
        targets = targets_of(device)
        if targets and manifest.target not in targets:
            raise DeviceError(
                f"`{manifest.name}` is compiled for {manifest.target}; device"
                f" {device.name} is {device.architecture}: compile it for"
                f" {_any_of(targets)}"
            )
        self.manifest = manifest
        self.device = device
        self._planner = Planner(manifest, device)
        self.code = device.load(artifact)
        place = {name: i for i, name in enumerate(manifest.parameters)}
        self._count = len(manifest.parameters)
        self._tensors = [place[row.name] for row in manifest.bindings]
        self._in_order = sorted(self._tensors)
        self._all = self._in_order == [*range(self._count)]
        self._ranks = [self._in_order.index(each) for each in self._tensors]
        self._written = [i for i, row in enumerate(manifest.bindings) if row.written]
        rows = [row for row in manifest.constants if row.parameter]
        self._scalars = [(place[r.name], r, scalar_packer(r.dtype)) for r in rows]
        deciding = self._planner.symbols
        self._deciding = [
            place[r.name] for r in rows if r.name in deciding and r.dtype in INTEGERS
        ]
        self._plans: dict[Hashable, Plan] = {}
        # Replaced whole: threads of Python see one launch or the other.
        self._last: Last = None, _NO_PLAN, (), ()

    def __call__(
        self, *arguments: Any, stream: Any = None, seen: Seen | None = None
    ) -> None:
        """Queue the kernel.

        Args:
            arguments: One for each parameter, in order.
            stream: A queue of the device: its handle, or a stream of torch. By
                default torch's current one for tensors of torch on a GPU, else the
                device's own.
            seen: What a glance at the arguments showed, from who has looked.

        Raises:
            LaunchRefused: where an argument does not fit; nothing runs.
            DeviceError: where the driver reports an error.
        """
        if len(arguments) != self._count:
            raise self._miscounted(len(arguments))
        queue = stream if type(stream) is int else _handle(stream, arguments)
        addresses, key = seen or self._see(arguments, queue)
        scalars = self._pack_scalars(arguments) if self._scalars else b""
        last_key, plan, checked, buffers = self._last
        if last_key != key or plan is _NO_PLAN:
            plan = self._plans.get(key) or self._remember(key, self._plan(arguments))
            checked = ()
        if plan.empty:
            return
        if checked != addresses:
            buffers = self.checked(addresses, plan)
            self._last = key, plan, addresses, buffers
        self.queue(plan, scalars, buffers, queue)

    def repeat(self, arguments: Sequence[Any]) -> Repeat:
        """Launches of the same numbers, on arrays that differ in their addresses alone.

        Raises:
            LaunchRefused: where an argument does not fit.
        """
        _, key = self._see(arguments, _handle(None, arguments))
        plan = self._plans.get(key) or self._remember(key, self._plan(arguments))
        return Repeat(self, plan, self._pack_scalars(arguments))

    def queue(
        self, plan: Plan, scalars: bytes, buffers: Sequence[Buffer], stream: int
    ) -> None:
        """Queue the kernel for memory that was checked.

        Raises:
            DeviceError: where the driver reports an error.
        """
        for sizes in plan.parts:
            self.code.launch(plan.grid, buffers, sizes + scalars, stream)

    def checked(self, addresses: Sequence[int], plan: Plan) -> tuple[Buffer, ...]:
        """The memory of arrays at these addresses, in the order of parameters.

        Raises:
            LaunchRefused: where they overlap, or are not aligned.
        """
        found = map(addresses.__getitem__, self._ranks)
        buffers = tuple(zip(found, plan.lengths, strict=True))
        self._check_addresses(buffers)
        return buffers

    def _see(self, arguments: Sequence[Any], queue: int) -> Seen:
        arrays = arguments if self._all else [arguments[i] for i in self._in_order]
        addresses, looks = glances(arrays, queue)
        if self._deciding:
            looks += [arguments[place] for place in self._deciding]
        return addresses, tuple(looks)

    def _miscounted(self, count: int) -> LaunchRefused:
        names = ", ".join(self.manifest.parameters)
        return LaunchRefused(
            f"`{self.manifest.name}` takes {len(self.manifest.parameters)} arguments"
            f" ({names}), {count} were given"
        )

    def _plan(self, arguments: Sequence[Any]) -> Plan:
        tensors = [arguments[place] for place in self._tensors]
        scalars = {row.name: arguments[place] for place, row, _ in self._scalars}
        return self._planner.plan([view(each) for each in tensors], scalars)

    def _remember(self, key: Hashable, plan: Plan) -> Plan:
        if len(self._plans) >= KEPT_PLANS:
            self._plans.clear()
        self._plans[key] = plan
        return plan

    def _pack_scalars(self, arguments: Sequence[Any]) -> bytes:
        found = b""
        for place, row, packer in self._scalars:
            try:
                found += packer(arguments[place])
            except (struct.error, OverflowError, TypeError, ValueError):
                raise LaunchRefused(
                    f"`{row.name}` is {arguments[place]!r}, which is no {row.dtype}"
                ) from None
        return found

    def _check_addresses(self, buffers: Sequence[Buffer]) -> None:
        """Refuse outputs that overlap another argument, and crooked addresses."""
        union = 0
        for address, _ in buffers:
            union |= address
        if union % ALIGNMENT:
            self._check_alignment(buffers)
        for place in self._written:
            start, length = buffers[place]
            end = start + length
            for other, (address, size) in enumerate(buffers):
                if address < end and start < address + size and other != place and size:
                    raise self._overlap(place, other)

    def _check_alignment(self, buffers: Sequence[Buffer]) -> None:
        for row, (address, size) in zip(self.manifest.bindings, buffers, strict=True):
            if size and address % ALIGNMENT:
                raise LaunchRefused(
                    f"`{row.name}` is at {address:#x}, which is no multiple of"
                    f" {ALIGNMENT} bytes: pass a copy",
                    Misfit.ALIGNMENT,
                )

    def _overlap(self, one: int, other: int) -> LaunchRefused:
        names = [row.name for row in self.manifest.bindings]
        return LaunchRefused(
            f"`{names[one]}` is written and overlaps `{names[other]}`: pass a copy of"
            " one of them",
            Misfit.OVERLAP,
        )


@dataclass(frozen=True, slots=True)
class Repeat:
    """A launch again, of which all but addresses and the stream is settled.

    Attributes:
        kernel: What is launched.
        plan: How.
        scalars: Its numbers as the kernel has them.
    """

    kernel: LoadedKernel
    plan: Plan
    scalars: bytes

    def check(self, addresses: Sequence[int]) -> tuple[Buffer, ...]:
        """What the kernel is given for arrays at these addresses; nothing is queued.

        Raises:
            LaunchRefused: where they overlap, or are not aligned.
        """
        return () if self.plan.empty else self.kernel.checked(addresses, self.plan)

    def __call__(self, buffers: Sequence[Buffer], stream: int) -> None:
        """Queue the kernel on what `check` gave.

        Raises:
            DeviceError: where the driver reports an error.
        """
        if not self.plan.empty:
            self.kernel.queue(self.plan, self.scalars, buffers, stream)


def _any_of(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def stream_of(arguments: Sequence[Any]) -> int:
    """The queue that a launch belongs on: torch's current one for its GPU tensors."""
    torch = sys.modules.get("torch")
    if torch is None:
        return 0
    for each in arguments:
        if isinstance(each, torch.Tensor) and each.is_cuda:
            return _current_stream(torch, each)
    return 0


def _current_stream(torch: Any, tensor: Any) -> int:
    """The handle of torch's current stream for a tensor's GPU.

    Torch's own compiled code asks for the handle alone, which takes a thirtieth of the
    time in which the public function makes an object; builds without it have that one.
    """
    quick = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # noqa: SLF001
    if quick is not None:
        return int(quick(tensor.get_device()))
    return int(torch.cuda.current_stream(tensor.device).cuda_stream)


def _handle(stream: Any, arguments: Sequence[Any]) -> int:
    if stream is None:
        return stream_of(arguments)
    handle = getattr(stream, "cuda_stream", stream)
    if not isinstance(handle, int):
        raise LaunchRefused(f"{type(stream).__name__} is no stream")
    return handle
