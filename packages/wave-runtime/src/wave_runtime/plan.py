"""Plans of launches: what shapes and integers decide, and must be."""

from __future__ import annotations

import math
import operator
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from wave_runtime.arrays import BYTES, ArrayView
from wave_runtime.errors import LaunchRefused, Misfit
from wave_runtime.grid import GridExpression
from wave_runtime.kernarg import INTEGERS
from wave_runtime.manifest import DEVICE_SYMBOL, BindingInfo, Manifest

if TYPE_CHECKING:
    from wave_runtime.devices import Device

Grid = tuple[int, int, int]

MAX_GRID = (1 << 31) - 1
"""Workgroups of one axis. Source: HIP, dim3 of a launch."""

MAX_ITEMS = (1 << 32) - 1
"""Work items of the first axis. Source: HSA, ``grid_size_x`` of a dispatch packet."""


_SAME_BITS = frozenset({("index", "i64"), ("i8", "u8")})
"""Pairs of types with the same bits: the kernel's, the argument's."""


_SCALED = re.compile(r"(?:(\d+)\*)?(.+?)(?: // (\d+))?(?: ([+-]) (\d+))?")
"""An extent that follows from a symbol: how often it, the symbol, divided by, and what
is added or taken away."""


MAX_DEVICES = 4096
"""Parts of one launch; a manifest with more comes from no compiler."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to launch with arguments like these.

    Attributes:
        grid: Workgroups.
        empty: Whether there is nothing to do.
        parts: The first words after the pointers, for the part of each device.
        lengths: Bytes of each binding.
    """

    grid: Grid
    empty: bool
    parts: tuple[bytes, ...]
    lengths: tuple[int, ...]


class Planner:
    """Makes the plans of one kernel on one device."""

    def __init__(self, manifest: Manifest, device: Device) -> None:
        self._manifest = manifest
        self._memory = getattr(device, "memory", None)
        self._ordinal = getattr(device, "ordinal", None)
        self._device = device.name
        first = min(MAX_ITEMS // manifest.threads, MAX_GRID)
        anywhere = (first, MAX_GRID, MAX_GRID)
        self._limits: Grid = getattr(device, "grid_limits", anywhere)
        self._grid = [GridExpression(text) for text in manifest.grid]
        self._spread = [GridExpression(text) for text in manifest.devices]
        self._shapes = [
            [GridExpression(text) for text in row.shape] for row in manifest.bindings
        ]
        self._sizes = [row.name for row in manifest.constants if not row.parameter]

    @property
    def symbols(self) -> frozenset[str]:
        """The names that grid and shapes depend on."""
        rows = [self._grid, self._spread, *self._shapes]
        return frozenset(name for row in rows for each in row for name in each.symbols)

    def plan(self, views: Sequence[ArrayView], scalars: Mapping[str, Any]) -> Plan:
        """Check the arguments and work out the grid.

        Raises:
            LaunchRefused: where an argument does not fit.
        """
        values = self._values(views, scalars)
        rows = zip(self._manifest.bindings, self._shapes, views, strict=True)
        lengths = tuple(self._check(row, shape, v, values) for row, shape, v in rows)
        grid = self._counts(values)
        parts = tuple(self._words({**values, **part}) for part in self._devices(values))
        return Plan(grid, not (all(grid) and parts), parts, lengths)

    def _devices(self, values: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
        """The coordinates of each device that shares the work; one launch does all."""
        counts = [range(max(0, expression(values))) for expression in self._spread]
        if math.prod(map(len, counts)) > MAX_DEVICES:
            raise LaunchRefused(
                f"the work is spread over more than {MAX_DEVICES} devices",
                Misfit.EXTENT,
            )
        for coordinates in product(*counts):
            yield {DEVICE_SYMBOL.format(i): at for i, at in enumerate(coordinates)}

    def _words(self, values: Mapping[str, int]) -> bytes:
        sizes = [values[name] for name in self._sizes]
        try:
            return struct.pack(f"<{len(sizes)}i", *sizes)
        except struct.error:
            name = max(self._sizes, key=lambda name: abs(values[name]))
            raise LaunchRefused(
                f"{name} is {values[name]}: the kernel takes sizes of 32 bits",
                Misfit.EXTENT,
            ) from None

    def _counts(self, values: Mapping[str, int]) -> Grid:
        counts = [max(0, expression(values)) for expression in self._grid]
        counts += [1] * (3 - len(counts))
        for axis, (count, limit) in enumerate(zip(counts, self._limits, strict=True)):
            if count > limit:
                raise LaunchRefused(
                    f"{count} workgroups of {self._manifest.threads} threads on axis"
                    f" {axis}, more than a launch can have; device {self._device} takes"
                    f" {limit}: use larger tiles, or another axis",
                    Misfit.EXTENT,
                )
        return counts[0], counts[1], counts[2]

    def _values(
        self, views: Sequence[ArrayView], scalars: Mapping[str, Any]
    ) -> dict[str, int]:
        """The symbols that shapes and integer arguments give."""
        values = {
            row.name: operator.index(scalars[row.name])
            for row in self._manifest.constants
            if row.parameter and row.dtype in INTEGERS
        }
        scaled: dict[str, int] = {}
        rows = zip(self._manifest.bindings, self._shapes, views, strict=True)
        for row, shape, found in rows:
            if len(shape) != len(found.shape):
                raise LaunchRefused(
                    f"`{row.name}` has {len(shape)} dimensions,"
                    f" {len(found.shape)} were given"
                )
            for expression, extent in zip(shape, found.shape, strict=True):
                name, size = _solved(expression, extent)
                if name == expression.text:
                    self._check_extent(row.name, extent)
                    values.setdefault(name, extent)
                elif name:
                    scaled.setdefault(name, size)
        values = {**scaled, **values}
        devices = {DEVICE_SYMBOL.format(axis) for axis in range(len(self._spread))}
        missing = [name for name in self._sizes if name not in {*values, *devices}]
        if missing:
            raise LaunchRefused(f"nothing gives {', '.join(missing)} a value")
        return values

    def _check_extent(self, name: str, extent: int) -> None:
        if extent >= self._manifest.max_extent:
            raise LaunchRefused(
                f"`{name}`: an extent of {extent} is beyond"
                f" {self._manifest.max_extent}",
                Misfit.EXTENT,
            )

    def _check(
        self,
        row: BindingInfo,
        shape: Sequence[GridExpression],
        found: ArrayView,
        values: Mapping[str, int],
    ) -> int:
        """Compare an argument with its parameter; its size in bytes."""
        self._check_place(row, found)
        if found.dtype != row.dtype and (row.dtype, found.dtype) not in _SAME_BITS:
            raise LaunchRefused(f"`{row.name}` is {row.dtype}, {found.dtype} was given")
        total = BYTES.get(row.dtype, 1)
        for expression, extent in zip(shape, found.shape, strict=True):
            wanted = expression(values)
            if wanted != extent:
                raise LaunchRefused(
                    f"`{row.name}`: {expression.text} is {wanted}, {extent} was given"
                )
            total *= extent
        if not found.contiguous:
            raise LaunchRefused(
                f"`{row.name}` is not row-major: pass a compact copy", Misfit.LAYOUT
            )
        if row.limit is not None and total >= row.limit:
            raise LaunchRefused(
                f"`{row.name}` has {total} bytes, and {row.limit} are out of reach of"
                " the buffer instructions that the kernel uses",
                Misfit.EXTENT,
            )
        return total

    def _check_place(self, row: BindingInfo, found: ArrayView) -> None:
        """Refuse memory that the device does not reach, or must not write."""
        if self._memory is not None and not found.is_in((self._memory,)):
            raise LaunchRefused(
                f"`{row.name}` is in memory of {found.place}; device {self._device}"
                f" reaches that of {self._memory}: copy it there",
                Misfit.DEVICE,
            )
        if None not in {self._ordinal, found.ordinal} and (
            self._ordinal != found.ordinal
        ):
            raise LaunchRefused(
                f"`{row.name}` is on device {found.ordinal}, the kernel on"
                f" {self._ordinal}",
                Misfit.DEVICE,
            )
        if row.written and not found.writable:
            raise LaunchRefused(f"`{row.name}` is written, and is read-only")


def _solved(expression: GridExpression, extent: int) -> tuple[str, int]:
    """The symbol that an extent gives a value: it grows evenly with the symbol."""
    found = _SCALED.fullmatch(expression.text)
    if found is None or found[2] not in expression.symbols:
        return "", 0
    times, name, divisor, sign, more = found.groups(default="")
    rest = extent - int(f"{sign}{more}" or 0)
    return (name, rest * int(divisor or 1) // int(times or 1)) if rest >= 0 else ("", 0)
