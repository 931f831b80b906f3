"""One line of assembly as machine code, by the row of its mnemonic."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial

from wave_backend_asm.encode import matrix, memory, opcodes, scalar, vector
from wave_backend_asm.encode.operands import UnknownError, code_of, plain_code_of

Row = Callable[[Sequence[str], Sequence[str]], bytes]
"""What encodes operands and modifiers."""

_FORM = re.compile(r"(.+?)_(e32|e64|dpp|sdwa)")
_OTHER_FLOATS = re.compile(r"64|16|v_pk_(?!\w+_f32)|8_")
"""Names of instructions whose operands have floats of other bits, or may have."""

_LDS_RESULTS = re.compile(r"ds_(read|bpermute|swizzle)_\w+|ds_\w+_rtn_\w+")


def machine_code(line: str) -> bytes:
    """The code of an instruction that is no jump.

    Raises:
        UnknownError: it is not encoded here.
    """
    name, _, rest = line.partition(" ")
    operands, modifiers = rest.split(", "), list[str]()
    if " " in operands[-1]:
        operands[-1], *modifiers = operands[-1].split(" ")
    try:
        return row_of(name)(operands, modifiers)
    except ValueError as error:  # more operands than it takes, or fewer
        raise UnknownError(line) from error


@cache
def row_of(name: str) -> Row:
    """How an instruction is encoded.

    Raises:
        UnknownError: it is not.
    """
    found = _FORM.fullmatch(name)
    plain, form = (found[1], found[2]) if found else (name, "")
    of = plain_code_of if _OTHER_FLOATS.search(plain) else code_of
    for rows in (_memory, _scalar, _matrix, _special, _vector):
        row = rows(plain, form, of)
        if row is not None:
            return row
    raise UnknownError(name)


def _alone(row: Callable[[Sequence[str]], bytes]) -> Row:
    """A row without modifiers."""

    def encoded(operands: Sequence[str], modifiers: Sequence[str]) -> bytes:
        if modifiers:
            raise UnknownError(*modifiers)
        return row(operands)

    return encoded


_FENCES = {
    **opcodes.OLDER_MUBUF,
    **{name: opcodes.MUBUF[name] for name in ("buffer_inv", "buffer_wbl2")},
}
_PRODUCTS = {**opcodes.OLDER_MFMA, **opcodes.MFMA}


def _memory(name: str, form: str, of: vector.CodeOf) -> Row | None:
    del form, of
    if name in opcodes.DS:
        gives = _LDS_RESULTS.fullmatch(name) is not None
        return partial(memory.lds, opcodes.DS[name], gives)
    if name in _FENCES:
        return partial(memory.fence, _FENCES[name])
    if name in opcodes.MUBUF:
        return partial(memory.buffer, opcodes.MUBUF[name])
    if name in opcodes.GLOBAL:
        return partial(memory.anywhere, opcodes.GLOBAL[name], "_store_" in name)
    return None


def _scalar(name: str, form: str, of: vector.CodeOf) -> Row | None:
    del form
    if name in scalar.ORDERS:
        return partial(scalar.ordered, name)
    if name in opcodes.SMEM:
        return partial(scalar.loaded, opcodes.SMEM[name])
    wide = of is plain_code_of
    for table, row in (
        (opcodes.SOP1, scalar.one),
        (opcodes.SOP2, scalar.two),
        (opcodes.SOPC, scalar.compared),
    ):
        if name in table:
            return _alone(partial(row, table[name], wide))
    return None


def _matrix(name: str, form: str, of: vector.CodeOf) -> Row | None:
    del form, of
    if name in _PRODUCTS:
        sums = code_of if name.startswith("v_mfma_f32_") else plain_code_of
        return partial(matrix.product, _PRODUCTS[name], sums)
    if name.startswith("v_mfma_scale_"):
        plain = name.replace("_scale", "")
        return partial(matrix.scaled, opcodes.MFMA[plain])
    moves = {"v_accvgpr_read_b32": matrix.read, "v_accvgpr_write_b32": matrix.written}
    return _alone(moves[name]) if name in moves else None


def _special(name: str, form: str, of: vector.CodeOf) -> Row | None:
    """Those of the encodings for lanes that have forms of their own."""
    op = opcodes.VOP1.get(name)
    if op is not None and form in {"dpp", "sdwa"}:
        return partial(vector.from_lanes if form == "dpp" else vector.of_parts, op)
    if op is not None and name == "v_readfirstlane_b32":
        return _alone(partial(vector.first_lane, op))
    if name in opcodes.OF_A_LANE:
        return _alone(partial(vector.three, opcodes.OF_A_LANE[name], of))
    if op is not None and name == "v_accvgpr_mov_b32":
        return _alone(partial(vector.accumulators_moved, op))
    if name in opcodes.VOP2 and form == "dpp":
        return partial(vector.first_from_lanes, opcodes.VOP2[name])
    if name in opcodes.WITH_NUMBER:
        op, behind = opcodes.WITH_NUMBER[name], name == "v_fmaak_f32"
        return _alone(partial(vector.with_number, op, behind))
    if name in opcodes.VOP3P:
        return partial(vector.packed, opcodes.VOP3P[name], of)
    return None


def _vector(name: str, form: str, of: vector.CodeOf) -> Row | None:
    if form in {"dpp", "sdwa"}:
        return None
    if name in opcodes.WITH_MASK and (form == "e64" or name.startswith("v_div")):
        return _alone(partial(vector.masked, opcodes.WITH_MASK[name], of))
    if form == "e64":
        return _long(name, of)
    if name in opcodes.VOP1:
        return _alone(partial(vector.single, opcodes.VOP1[name], of))
    if name in opcodes.VOP2 and name != "v_cndmask_b32":
        return _alone(partial(vector.double, opcodes.VOP2[name], of))
    if name in opcodes.VOP3:
        return _alone(partial(vector.three, opcodes.VOP3[name], of))
    return None


def _long(name: str, of: vector.CodeOf) -> Row | None:
    """The long form, where it is asked for."""
    for table, first in (
        (opcodes.VOP1, vector.ONE_AS_THREE),
        (opcodes.VOP2, vector.TWO_AS_THREE),
        (opcodes.VOPC, 0),
        (opcodes.VOP3, 0),
    ):
        if name in table:
            return _alone(partial(vector.three, first + table[name], of))
    return None
