"""Reads and writes, of buffers and of LDS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.code import Part
from wave_backend_asm.codegen.accesses import Address, buffer_address, lds_address
from wave_backend_asm.codegen.memories import lds_of
from wave_backend_asm.machine.operands import SCALARS, Operand, Virtual, is_scalar
from wave_backend_asm.machine.scalar_loads import NUMBERS, scalar_load, widths
from wave_backend_asm.select.basics import basic, lane_test
from wave_backend_asm.select.conversions import chosen
from wave_backend_asm.select.data import WORD, Datum
from wave_backend_asm.select.missing import MissingError
from wave_backend_asm.select.vectors import elements, joined, part_of
from wave_core.backends import lowers
from wave_core.backends.emission import Kind, Value, element
from wave_core.backends.emission.accesses import Piece, pieces
from wave_core.ops.memory import Allocate, Read, TransposedRead, Write

if TYPE_CHECKING:
    from wave_backend_asm.codegen.emitter import Emitter
    from wave_backend_asm.codegen.memories import Memory
    from wave_backend_asm.select.builder import Builder

_FLAGS = {"none": "", "nontemporal": " nt", "volatile": " sc0 sc1"}
"""What the language says of an access, and the bits of the instruction."""

_BUFFER_WORDS = {4: "dwordx4", 3: "dwordx3", 2: "dwordx2", 1: "dword"}
_BUFFER_LOADS = {2: "ushort", 1: "ubyte"}
_BUFFER_STORES = {2: "short", 1: "byte"}
_LDS_BITS = {4: "b128", 2: "b64", 1: "b32"}
_LDS_LOADS, _LDS_STORES = {2: "u16", 1: "u8"}, {2: "b16", 1: "b8"}
"""Names of instructions by words, and by bytes below a word."""


@lowers(Allocate)
def allocate(op: Allocate, emit: Emitter) -> None:
    """A flat array in LDS; no code."""
    emit.memories[op.ident] = lds_of(emit, op)


@lowers(Read, when=lambda op: type(op) is Read)
def read(op: Read, emit: Emitter) -> None:
    """Piece by piece, put together."""
    memory = _memory(op, emit)
    found, flags = pieces(op, emit, memory), _flags(op)
    parts = [
        part
        for piece in found
        for part in _loaded(emit, memory, piece, flags)
    ]  # fmt: skip
    kind = Kind(element(memory.dtype), sum(piece.count for piece in found))
    datum = Datum(kind, _put_together(emit, kind, parts))
    emit.define(op, Value(emit.b.name(datum), *kind))


_TRANSPOSED = {16: "ds_read_b64_tr_b16", 8: "ds_read_b64_tr_b8"}
"""By bits of an element. Source: CDNA4 ISA, "LDS transpose loads"."""


@lowers(TransposedRead)
def transposed_read(op: TransposedRead, emit: Emitter) -> None:
    """One instruction: all that a lane fetches lies side by side."""
    memory = emit.memory(op.memory)
    (piece,) = pieces(op, emit, memory)
    words = Virtual(piece.count * memory.dtype.bits // WORD)
    if memory.dtype.bits not in _TRANSPOSED or words.width != 2:
        raise MissingError(f"transposed reads of {piece.count} x {memory.dtype}")
    if piece.mask is not None:
        raise MissingError("transposed reads under a mask")
    place = lds_address(emit, memory, piece)
    modifiers = f"offset:{place.immediate}" if place.immediate else ""
    name, lane = _TRANSPOSED[memory.dtype.bits], emit.b.in_vector(place.lane)
    with emit.b.touching(place.memory):
        emit.b.say(name, (words.all,), (lane,), modifiers)
    kind = Kind(element(memory.dtype), piece.count)
    emit.define(op, Value(emit.b.of(kind, words.parts()), *kind))


@lowers(Write)
def write(op: Write, emit: Emitter) -> None:
    """Piece by piece."""
    memory = _memory(op, emit)
    found, flags = pieces(op, emit, memory), _flags(op)
    registers = sum(piece.count for piece in found)
    value = emit.value(op.value)
    datum = emit.b.data[emit.spread(value, registers)]
    datum = _as_bytes(emit, datum) if memory.dtype.is_bool else datum
    for piece in found:
        _stored(emit, memory, piece, datum, flags)


def _memory(op: Read | Write, emit: Emitter) -> Memory:
    """The memory; indices that others have given may be beyond it."""
    memory = emit.memory(op.memory)
    if op.indices and memory.descriptor is not None:
        emit.bounded.add(memory.descriptor.value)
    return memory


def _flags(op: Read | Write) -> str:
    words = op.flags.replace("|", " ").split()
    if any(word not in _FLAGS for word in words):
        raise MissingError(f"`{op.flags}` accesses")
    return "".join(_FLAGS[word] for word in words)


def _put_together(emit: Emitter, kind: Kind, parts: list[Datum]) -> tuple[Operand, ...]:
    """The words of all pieces; those of whole words as they are."""
    bits = 8 if kind.item == "i1" else parts[0].bits
    if all(part.kind.registers * bits % WORD == 0 for part in parts[:-1]):
        words = tuple([word for part in parts for word in part.words])
    else:
        raw = Kind(f"i{bits}", kind.registers)
        words = joined(emit.b, raw, [row for p in parts for row in elements(emit.b, p)])
    if kind.item != "i1":
        return words
    bytes_ = Datum(Kind("i8", kind.registers), words)
    return tuple([_truth(emit, row[0]) for row in elements(emit.b, bytes_)])


def _truth(emit: Emitter, word: Operand) -> Operand:
    """The lowest bit of a byte."""
    return lane_test(emit.b, "v_cmp_ne_u32_e64", 0, basic(emit.b, "andi", word, 1))


def _as_bytes(emit: Emitter, datum: Datum) -> Datum:
    """Truth values as they are in memory."""
    kind = Kind("i8", datum.kind.registers)
    rows = [(chosen(emit.b, mask, 1, 0),) for mask in datum.words]
    return Datum(kind, joined(emit.b, kind, rows))


# ---- one piece, by instructions that its alignment allows


def _chunks(memory: Memory, piece: Piece) -> list[tuple[int, int]]:
    """First element and count of each instruction."""
    size = memory.dtype.bytes
    unit = piece.alignment
    if memory.descriptor is not None and unit >= 4:
        unit = 16  # Words of a buffer need no more than the alignment of one.
    most = max(1, unit // size)
    starts = range(0, piece.count, most)
    return [(start, min(most, piece.count - start)) for start in starts]


def _loaded(emit: Emitter, memory: Memory, piece: Piece, flags: str) -> list[Datum]:
    item = "i8" if memory.dtype.is_bool else element(memory.dtype)
    found: list[Datum] = []
    place = _address(emit, memory, piece)
    scalar = _scalar_load(emit, memory, piece, place, flags)
    if scalar is not None:
        return [Datum(Kind(item, piece.count), tuple(scalar))]
    for start, count in _chunks(memory, piece):
        size = count * memory.dtype.bytes
        words = Virtual(-(-size // 4))
        at = place.immediate + start * memory.dtype.bytes
        if memory.descriptor is not None:
            name = f"buffer_load_{_name(_BUFFER_WORDS, _BUFFER_LOADS, size)}"
            _buffer(
                emit, name, words.all, memory.descriptor, place, at, flags, load=True
            )
            if piece.mask is not None:
                mask = emit.b.words(emit.indices.truth(piece.mask))[0]
                for word in words.parts():
                    emit.b.mark_elsewhere(word, mask)
        else:
            with emit.b.touching(place.memory):
                _lds_load(emit, words, place, at, size, piece)
        found.append(Datum(Kind(item, count), words.parts()))
    return found


def _stored(
    emit: Emitter, memory: Memory, piece: Piece, datum: Datum, flags: str
) -> None:
    place = _address(emit, memory, piece)
    for start, count in _chunks(memory, piece):
        size = count * memory.dtype.bytes
        part = part_of(emit.b, datum, piece.register + start, count)
        data = emit.b.together([*map(emit.b.in_vector, part.words)])
        at = place.immediate + start * memory.dtype.bytes
        if memory.descriptor is not None:
            name = f"buffer_store_{_name(_BUFFER_WORDS, _BUFFER_STORES, size)}"
            _buffer(emit, name, data, memory.descriptor, place, at, flags, load=False)
        else:
            with emit.b.touching(place.memory):
                _lds_store(emit, data, place, at, size, piece)


def _name(words: dict[int, str], parts: dict[int, str], size: int) -> str:
    return parts[size] if size < 4 else words[size // 4]


def _address(emit: Emitter, memory: Memory, piece: Piece) -> Address:
    make = lds_address if memory.descriptor is None else buffer_address
    return make(emit, memory, piece)


def _buffer(
    emit: Emitter,
    name: str,
    data: Part,
    descriptor: Part,
    place: Address,
    at: int,
    flags: str,
    *,
    load: bool,
) -> None:
    """An access of a buffer, its data first."""
    b = emit.b
    wave = place.wave
    if at >= 1 << 12:
        wave, at = basic(b, "addi", wave, at), 0
    if not isinstance(wave, int) or wave:
        wave = b.in_scalar(wave)
    operands: list[Operand] = [b.in_vector(place.lane), descriptor, wave]
    modifiers = f"offen{f' offset:{at}' if at else ''}{flags}"
    if load:
        b.say(name, (data,), operands, modifiers)
    else:
        b.say(name, (), (data, *operands), modifiers)


def _scalar_load(
    emit: Emitter, memory: Memory, piece: Piece, place: Address, flags: str
) -> list[Operand] | None:
    """Words for all lanes, in registers of the wave; ``None`` where they are none.

    Of what is out of bounds for a load to lanes, each word is so for this one too, and
    is 0.
    """
    steady = memory.steady and not flags and emit.loads_scalars
    word, descriptor = memory.dtype.bits == WORD, memory.descriptor
    if descriptor is None or not (steady and word and is_scalar(place.lane)):
        return None
    b, found = emit.b, list[Operand]()
    base = basic(b, "addi", place.lane, place.wave)
    for start, width in widths(piece.count):
        words = Virtual(width, SCALARS)
        register, number = _in_instruction(b, base, place.immediate + 4 * start)
        b.say(*scalar_load(words.all, descriptor, register, number))
        found += words.parts()
    emit.loaded_scalars = True
    return found


def _in_instruction(b: Builder, base: Operand, number: int) -> tuple[Part | None, int]:
    """An offset as a register, if it needs one, and a number."""
    if isinstance(base, int):
        number += base
        if number < NUMBERS:
            return None, number
        base, number = b.in_scalar(number), 0
    assert isinstance(base, Part), "a word of the wave"
    return base, number


def _lds_load(
    emit: Emitter, words: Virtual, place: Address, at: int, size: int, piece: Piece
) -> None:
    """A load; where a lane's mask does not hold, zeros."""
    b = emit.b
    name = f"ds_read_{_name(_LDS_BITS, _LDS_LOADS, size)}"
    address, modifiers = b.in_vector(place.lane), f"offset:{at}" if at else ""
    mask = held_mask(emit, piece)
    if mask is None:
        b.say(name, (words.all,), (address,), modifiers)
        return
    b.moved([0] * words.width, words)
    with emit.where(mask):
        b.say(name, (words.all,), (address,), modifiers, keeps=(words.all,))


def _lds_store(
    emit: Emitter, data: Part, place: Address, at: int, size: int, piece: Piece
) -> None:
    b = emit.b
    name = f"ds_write_{_name(_LDS_BITS, _LDS_STORES, size)}"
    address, modifiers = b.in_vector(place.lane), f"offset:{at}" if at else ""
    mask = held_mask(emit, piece)
    if mask is None:
        b.say(name, (), (address, data), modifiers)
        return
    with emit.where(mask):
        b.say(name, (), (address, data), modifiers)


def held_mask(emit: Emitter, piece: Piece) -> Part | None:
    """The mask of a guarded access, in registers."""
    if piece.mask is None:
        return None
    test = emit.b.words(emit.indices.truth(piece.mask))[0]
    if isinstance(test, int):
        test = emit.b.salu("s_mov_b64", emit.b.mask(test), width=2)
    assert not isinstance(test, str), "a mask is in registers"
    return test
