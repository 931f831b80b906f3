"""How fast a kernel is over sizes, beside the roofline and beside others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wave_core.cli.load import from_file
from wave_core.compile.check_case import case_arguments
from wave_core.compile.compiler import wave_compile
from wave_core.compile.roofline import Roof, Roofline, roofline
from wave_core.diagnostics import UserError
from wave_core.passes.selection import unknown_name
from wave_tune.clocks import by_graph
from wave_tune.exclusive import alone
from wave_tune.measure import SEED, GpuMeter, meter_for
from wave_tune.tensors import tensor_of

if TYPE_CHECKING:
    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.session import Session
    from wave_tune.measure import Meter
    from wave_tune.subject import Subject

TERA, GIGA = 1e6, 1e3
"""FLOPs a microsecond of one TF/s, and bytes a microsecond of one GB/s."""

Peer = Callable[[Sequence[Any]], object]
"""Computes what a kernel does, from its arguments as tensors of torch on a GPU."""


@dataclass(frozen=True)
class Row:
    """A kernel at one size.

    Attributes:
        shape: The sizes.
        unit: ``TF/s``, or ``GB/s`` of kernels that compute little.
        us: Microseconds of a launch.
        rate: In ``unit``, of the work that the result takes.
        roof: The most that all of the target can do, by its published peaks of memory
            and of arithmetic; ``None`` where it has none.
        bound: Which of them binds.
        peers: Rates of others.
        told: The configuration that was taken.
    """

    shape: Mapping[str, int]
    unit: str
    us: float
    rate: float
    roof: float | None
    bound: str
    peers: Mapping[str, float]
    told: str


@dataclass(frozen=True)
class Report:
    """A kernel over sizes.

    Attributes:
        kernel: Its name.
        target: The machine.
        on: What measured: a GPU, or an emulator by its model of cycles.
        rows: The sizes, in the order asked for.
        left_out: Peers that nothing here measures.
    """

    kernel: str
    target: str
    on: str
    rows: tuple[Row, ...]
    left_out: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values."""
        return {**vars(self), "rows": [vars(row) for row in self.rows]}


def report(
    subject: Subject,
    shapes: Sequence[Mapping[str, int]],
    against: Sequence[str],
    session: Session,
) -> Report:
    """Measure a kernel at each of these sizes, and what it is compared with.

    Args:
        subject: The kernel; sizes that ``shapes`` leaves out are its own.
        shapes: Sizes by name.
        against: Names of peers of the kernel, or ``NAME=FILE.py:FUNCTION``.
        session: Whose plugins compile it.

    Raises:
        UserError: WV0801 for a peer that there is not, WV0831 where nothing measures,
            and for mistakes in the kernel.
    """
    first = subject.at(shapes[0]).case(session)
    target = first.options.target_name
    meter = meter_for(session, target)
    found = [(name, _peer(name, first)) for name in against]
    gpu = isinstance(meter, GpuMeter)
    rows = [
        _row(subject.at(shape).case(session), meter, against if gpu else (), session)
        for shape in shapes
    ]
    names = tuple(_title(name) for name, _ in found)
    return Report(
        first.kernel.name, target, meter.on, tuple(rows), () if gpu else names
    )


def _row(
    case: KernelCase, meter: Meter, against: Sequence[str], session: Session
) -> Row:
    us = meter.measure(case, case.options).us
    kernel = wave_compile(case.options, case.kernel, session=session)
    limits = _limits(kernel, case)
    bound = _bound(limits) if limits else None
    work = case.flops or (limits.least_bytes if limits else 0.0)
    unit, scale = ("TF/s", TERA) if case.flops else ("GB/s", GIGA)
    peers = _peers(case, meter.on, against) if against else {}
    return Row(
        dict(case.shape),
        unit,
        us,
        work / us / scale,
        work / (_least_ns(bound) / 1e3) / scale if bound else None,
        bound.name if bound else "",
        {name: work / each / scale for name, each in peers.items()},
        " ".join([f"preset={kernel.options.preset}", *_settled(kernel.settled)]),
    )


def _settled(values: Mapping[str, object]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]


def _limits(kernel: Any, case: KernelCase) -> Roofline | None:
    """The roofline; nothing for a target without published peaks."""
    try:
        return roofline(kernel.compiled, case.shape)
    except UserError as error:
        if error.code != "WV0829":
            raise
        return None


def _bound(limits: Roofline) -> Roof | None:
    """What binds all of the chip: arithmetic, or each tensor moved once."""
    roofs = [row for row in limits.roofs if row.unit == "FLOP" or row.name == "memory"]
    return max((row for row in roofs if row.work), key=_least_ns, default=None)


def _least_ns(roof: Roof) -> float:
    return roof.work / roof.peak_per_ns


def _peers(case: KernelCase, device: str, against: Sequence[str]) -> dict[str, float]:
    """Microseconds of each peer, on the same arguments."""
    tensors = [tensor_of(each) for each in case_arguments(case, SEED)]
    found: dict[str, float] = {}
    for name in against:
        run = partial(_peer(name, case), tensors)
        with alone(device):
            found[_title(name)] = by_graph(run)
    return found


def _title(name: str) -> str:
    return name.partition("=")[0]


def _peer(name: str, case: KernelCase) -> Peer:
    """What a name of ``--against`` means for a case.

    Raises:
        UserError: WV0801 where there is no such peer, file or function.
    """
    title, given, place = name.partition("=")
    if given:
        path, _, function = place.rpartition(":")
        found: Any = from_file(Path(path), function)
        return lambda tensors: found(*tensors)
    if title not in case.peers:
        raise unknown_name(
            f"peer of kernel `{case.kernel.name}`",
            title,
            [*case.peers, f"{title}=FILE.py:FUNCTION"],
        )
    return case.peers[title]
