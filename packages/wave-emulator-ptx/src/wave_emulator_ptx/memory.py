"""Global memory: the arrays of a launch, at addresses of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx.arrays import every, some

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Bools, Bytes, Ints

FIRST = 1 << 32
"""The lowest address; below it nothing is global."""
APART = 1 << 32
"""Bytes from one array to the next: an address is near one array only."""


@dataclass
class Piece:
    """An array of the launch.

    Attributes:
        data: its bytes.
        written: which of them somebody wrote, or None where all count as written.
    """

    data: Bytes
    written: Bools | None = None


@dataclass(frozen=True)
class Fetched:
    """Bytes of global memory, and whether some are outside, or nobody wrote them."""

    values: Bytes
    outside: bool
    unwritten: bool


class GlobalMemory:
    """Bytes by address.

    A load or store moves `size` bytes a thread; what lies outside of every array is
    neither read (it is zero) nor written, and comes back as a mask of threads.

    Attributes:
        pieces: the arrays.
        writable: the first address behind constant memory.
    """

    def __init__(self, pieces: Sequence[Piece], constants: int = 0) -> None:
        """Place arrays; the address of each is a multiple of 2**32.

        Args:
            pieces: in the order of their addresses.
            constants: how many of them, from the first on, are of constant memory.
        """
        self.pieces = list(pieces)
        self.writable = FIRST + constants * APART

    def inside(self, addresses: Ints, size: int) -> Bools:
        """Threads that stay within one array."""
        ordinals, offsets = np.divmod(addresses - FIRST, APART)
        lengths = np.array([len(each.data) for each in self.pieces] + [0])
        known = (ordinals >= 0) & (ordinals < len(self.pieces))
        return known & (offsets + size <= lengths[np.where(known, ordinals, -1)])

    def load(self, addresses: Ints, size: int) -> tuple[Bytes, Bools]:
        """Bytes by thread, and threads that read some that nobody wrote.

        Addresses are multiples of the size.
        """
        found = np.zeros((len(addresses), size), np.uint8)
        unwritten = np.zeros(len(addresses), np.bool_)
        for piece, threads, places in self._places(addresses, size):
            found[threads] = rows(piece.data, size)[places]
            if piece.written is not None:
                unwritten[threads] = ~every(rows(piece.written, size)[places])
        return found, unwritten

    def store(self, addresses: Ints, values: Bytes) -> None:
        """Write the bytes of each thread; the last one wins."""
        size = values.shape[1]
        for piece, threads, places in self._places(addresses, size):
            rows(piece.data, size)[places] = values[threads]
            if piece.written is not None:
                rows(piece.written, size)[places] = True

    def fetch(self, where: Ints) -> Fetched:
        """Single bytes, all of one array, at addresses [rows, bytes]."""
        piece, offsets, good = self._single(where)
        values = np.where(good, piece.data[np.where(good, offsets, 0)], 0)
        nobody = piece.written is not None and not bool(
            (piece.written[np.where(good, offsets, 0)] | ~good).all()
        )
        return Fetched(values.astype(np.uint8), not bool(good.all()), nobody)

    def put(self, where: Ints, values: Bytes) -> bool:
        """Write single bytes likewise; whether some are outside of the array."""
        piece, offsets, good = self._single(where)
        piece.data[offsets[good]] = values[good]
        if piece.written is not None:
            piece.written[offsets[good]] = True
        return not bool(good.all())

    def _single(self, where: Ints) -> tuple[Piece, Ints, Bools]:
        """The array of addresses, their offsets in it, and which lie inside."""
        if not where.size:
            return Piece(np.zeros(1, np.uint8)), where, np.ones(where.shape, np.bool_)
        ordinal = (int(where.flat[0]) - FIRST) // APART
        offsets = where - (FIRST + ordinal * APART)
        if not 0 <= ordinal < len(self.pieces) or not len(self.pieces[ordinal].data):
            return (
                Piece(np.zeros(1, np.uint8)),
                offsets,
                np.zeros(where.shape, np.bool_),
            )
        piece = self.pieces[ordinal]
        return piece, offsets, (offsets >= 0) & (offsets < len(piece.data))

    def _places(self, addresses: Ints, size: int) -> list[tuple[Piece, Ints, Ints]]:
        """For each array: it, the threads that touch it, and which row of it."""
        ordinals, offsets = np.divmod(addresses - FIRST, APART)
        good = self.inside(addresses, size)
        found: list[tuple[Piece, Ints, Ints]] = []
        for ordinal in np.unique(ordinals[good]):
            threads = np.flatnonzero(good & (ordinals == ordinal))
            found.append((self.pieces[int(ordinal)], threads, offsets[threads] // size))
        return found


def rows(data: Array, size: int) -> Array:
    """A view of bytes as rows of a size; what is left over is no row."""
    return data[: len(data) // size * size].reshape(-1, size)


def clashing(values: Bytes, places: Ints) -> Bools:
    """Threads that write to the place of another one what differs from its bytes.

    Places are aligned, so that two are equal or apart.
    """
    order = np.argsort(places, kind="stable")
    there, data = places[order], values[order]
    bad = (there[1:] == there[:-1]) & some(data[1:] != data[:-1])
    clash = np.zeros(len(places), np.bool_)
    clash[order[1:][bad]] = True
    return clash
