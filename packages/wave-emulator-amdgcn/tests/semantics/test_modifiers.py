"""Modifiers of vector instructions: signs, halves, clamp, OMOD, EXEC, SDWA and DPP."""

from __future__ import annotations

import re
import zlib

import bitfloats as B
import families
import lanes_of
import modifiers_reference as M
import numpy as np
import pytest
from assemble import VGPR, encode, execute, machine
from scalar_reference import mask
from test_vector import (
    COMPARE_OUT,
    EXEC,
    OLD,
    SOURCES,
    VCC,
    carry_row,
    fields_of,
    instructions,
    lanes_to_mask,
    mask_bits,
)

COUNT = 128
#: Every sixth of the lanes that `lanes_of` has.
PICK = range(0, 6 * COUNT, 6)
MASK_SEED, VCC_SEED = lanes_of.MASK_SEED, lanes_of.VCC_SEED


#: Integer results that CLAMP limits to their type.
SATURATING = re.compile(r"V_(ADD|SUB|SUBREV)_(NC_)?[UI](16|32)|V_MAD_[UI]16")


class Case:
    """One instruction on registers whose words are known."""

    def __init__(self, arch, cls, op, name, *, ieee=None, flush=False):
        self.arch, self.cls, self.op, self.name = arch, cls, op, name
        ieee = arch != "gfx1201" if ieee is None else ieee
        self.ref = lanes_of.table(ieee=ieee)[name]
        self.flush = flush
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.m = machine(arch, COUNT // families.ARCHITECTURES[arch].lanes)
        self.m.set_mode(0 if flush else 0xF0)
        self.m.ieee = ieee
        self.active = [int(b) for b in self.rng.integers(0, 4, COUNT) > 0]
        self.kinds = self.ref.ins.split()
        self._load()

    def _load(self):
        """Words of operands: both halves of a register are special values."""
        self.words, slot = [], 0
        for kind in self.kinds:
            if kind in ("m", "vcc"):
                bits = lanes_of.flags(MASK_SEED if kind == "m" else VCC_SEED)
                self.words.append([bits[k] for k in PICK])
                lanes_to_mask(self.m, VCC, self.words[-1])
                lanes_to_mask(self.m, 20, self.words[-1])
                continue
            plain = kind.rpartition(":")[2]
            words = words_of(plain, 3 if kind[:2] == "d:" else slot)
            if kind.startswith("k:"):
                literal = lanes_of.LITERAL[plain] & mask(lanes_of.bits_of(plain))
                words = [literal] * COUNT
            else:
                self._put(OLD if kind[:2] == "d:" else SOURCES[slot], words, plain)
            slot += ":" not in kind
            self.words.append(words)
        self.m.write_lane_mask(
            EXEC, slice(None), np.array(self.active, bool).reshape(self.m.V[0].shape)
        )

    def _put(self, row, words, kind):
        array, shape = np.array(words, dtype=object), self.m.V[0].shape
        self.m.V[row] = (array & mask(32)).astype(np.uint32).reshape(shape)
        if kind.endswith("64"):
            high = (array >> 32 & mask(32)).astype(np.uint32)
            self.m.V[row + 1] = high.reshape(shape)

    def run(self, fields):
        self.old = [int(w) for w in self.m.V[OLD].ravel()]
        self.old64 = [int(w) for w in self.m.V[OLD + 1].ravel()]
        execute(self.m, encode(self.cls, self.op, **fields))

    def results(self, columns, **more):
        fixed = tuple(tuple(column) for column in columns)
        return lanes_of.applied(
            self.name, fixed, ieee=self.m.ieee, flush=self.flush, **more
        )

    def compare(self, results, carries, writes, store):
        """Differences in the destination and in masks."""
        out = self.ref.out.split()[0]
        bad = [] if out == "mask" else self._result(out, results, writes, store)
        if carries:
            bad += self._masks(carries, writes)
        return [(self.name, self.cls.__name__, *b) for b in bad[:3]]

    def _result(self, out, results, writes, store):
        got = [int(w) for w in self.m.V[OLD].ravel()]
        old = self.old
        if out.endswith("64"):
            got = _joined(got, self.m.V[OLD + 1].ravel())
            old = _joined(old, self.old64)
        bad = []
        for k in range(COUNT):
            if not writes[k]:
                wrong = got[k] != old[k]
            else:
                wrong = store(self, out, got[k], results[k], self.old[k])
            if wrong:
                words = [hex(w[k]) for w in self.words]
                bad.append((k, writes[k], hex(got[k]), hex(results[k]), words))
        return bad

    def _masks(self, carries, writes):
        want = [bool(c and w) for c, w in zip(carries, writes, strict=True)]
        rows = {carry_row(self.cls, self.ref)}
        if "CMPX" in self.name:
            rows = {EXEC} | (rows if self.arch.startswith("gfx9") else set())
        if "sd" in dict(self.cls._fields):
            rows = {COMPARE_OUT if r == VCC else r for r in rows}
        bad = []
        for row in rows:
            got = mask_bits(self.m, row)
            bad += [("mask", row, k, [hex(w[k]) for w in self.words])
                    for k in range(COUNT) if got[k] != want[k]]  # fmt: skip
        return bad


def _joined(low, high):
    return [int(a) | int(b) << 32 for a, b in zip(low, high, strict=True)]


def words_of(kind, slot):
    """Words of a register, with special values in both halves."""
    low = lanes_of.operand(kind, slot)
    if lanes_of.bits_of(kind) != 16:
        return [low[k] for k in PICK]
    high = lanes_of.operand(kind, slot + 7)
    return [low[k] | high[-1 - k] << 16 for k in PICK]


def plain_store(case, out, got, result, old):
    """Whether a register differs from a result in its place."""
    width = 32 if out[0] == "2" else lanes_of.bits_of(out)
    if width == 16:
        keeps = case.ref.keeps or case.high or case.arch.startswith("gfx1")
        shift = 16 if case.high else 0
        rest = old >> 16 - shift & 0xFFFF if keeps else 0
        if got >> 16 - shift & 0xFFFF != rest:
            return True
        got = got >> shift & 0xFFFF
    return bool(lanes_of.differences(out, [got], [result], case.ref.ulp))


def sdwa_differs(case, out, got, result, old):
    want = M.sdwa_store(old, result, case.selection, case.unused)
    if got == want:
        return False
    kind = out.lstrip("2")
    if kind not in B.FORMATS:
        return True
    # A part of a NaN says nothing: its payload is not defined.
    halves = (result & 0xFFFF, result >> 16) if out[0] == "2" else (result,)
    return not any(B.is_nan(kind, half) for half in halves)


def signs(case, kind, slot, chosen):
    """Whether a sign modifier stands on an operand."""
    return bool(chosen >> slot & 1) and M.has_sign(kind)


def modified_fields(case):
    """Random neg, abs, opsel, clamp and omod for what the operands allow."""
    known = {name for name, _ in case.cls._fields}
    neg = abs_ = opsel = slot = 0
    for kind in case.kinds:
        if ":" in kind or kind in ("m", "vcc"):
            continue
        neg |= M.has_sign(kind) << slot
        abs_ |= (M.has_sign(kind) and "abs" in known) << slot
        opsel |= (kind.endswith("16") and "opsel" in known) << slot
        slot += 1
    out = case.ref.out.split()[0]
    opsel |= (out[0] != "2" and out.endswith("16") and "opsel" in known) << 3
    pick = [int(b) for b in case.rng.integers(0, 16, 3)]
    floating = out in ("f16", "f32", "f64")
    fields = {"neg": neg & pick[0], "abs": abs_ & pick[1], "opsel": opsel & pick[2]}
    if floating and not case.ref.ulp:
        fields["clmp"] = int(case.rng.integers(0, 2))
        fields["omod"] = int(case.rng.integers(0, 4))
    if SATURATING.fullmatch(case.name):
        fields["clmp"] = int(case.rng.integers(0, 4) > 0)
    return {k: v for k, v in fields.items() if k in known}


def half_of(word, kind, *, high):
    return word >> 16 & 0xFFFF if high else word & mask(lanes_of.bits_of(kind))


def operand_columns(case, fields, words):
    """Bits of all operands after opsel, abs and neg."""
    columns, slot = [], 0
    opsel = fields.get("opsel", 0)
    for kind, column in zip(case.kinds, words, strict=True):
        if kind in ("m", "vcc") or kind.startswith("k:"):
            columns.append(column)
            continue
        plain = kind.rpartition(":")[2]
        old = kind.startswith("d:")
        high = bool(opsel >> (3 if old else slot) & 1) and plain.endswith("16")
        bits = [half_of(w, plain, high=high) for w in column]
        if not old:
            negative = signs(case, kind, slot, fields.get("neg", 0))
            absolute = signs(case, kind, slot, fields.get("abs", 0))
            if negative or absolute:
                bits = [
                    M.with_sign(kind, b, negative=negative, absolute=absolute)
                    for b in bits
                ]
            slot += 1
        columns.append(bits)
    return columns


def run_modified(arch, cls, op, name, **mode):
    case = Case(arch, cls, op, name, **mode)
    fields = modified_fields(case)
    case.high = bool(fields.get("opsel", 0) >> 3 & 1)
    case.run(fields_of(cls, case.ref, **fields))
    scale = {0: 0, 1: 1, 2: 2, 3: -1}[fields.get("omod", 0)]
    works = case.flush and not case.m.ieee
    results, carries = case.results(
        operand_columns(case, fields, case.words),
        scale=scale if works else 0, clamp=bool(fields.get("clmp")),
    )  # fmt: skip
    return case.compare(results, carries, case.active, plain_store)


def selected(arch, encodings):
    rows = lanes_of.rows(arch)
    for encoding in encodings:
        for cls, op, name in instructions(arch, encoding):
            if name in rows:
                yield cls, op, name


@families.EXTENT
@pytest.mark.parametrize("arch", families.ARCHES)
def test_signs_halves_clamp_and_exec(arch, every):
    bad = []
    found = selected(arch, ("VOP3", "VOP3SD"))
    for cls, op, name in families.share(arch, found, every=every):
        bad += run_modified(arch, cls, op, name)
    assert bad == []


@pytest.mark.parametrize("arch", families.ARCHES)
def test_omod_without_ieee_and_denormals(arch):
    bad = []
    for cls, op, name in selected(arch, ("VOP3",)):
        if lanes_of.rows(arch)[name].out[0] == "f":
            bad += run_modified(arch, cls, op, name, ieee=False, flush=True)
    assert bad == []


def narrow(ref):
    return "64" not in ref.ins + ref.out and ":" not in ref.ins


def run_sdwa(arch, cls, op, name):
    case = Case(arch, cls, op, name)
    rng = case.rng
    fields = {"src0": 249, "vsrc0": SOURCES[0] + VGPR}
    columns, slot = [], 0
    for kind, words in zip(case.kinds, case.words, strict=True):
        if kind == "m":
            columns.append(words)
            continue
        selection = int(rng.choice([0, 1, 2, 3, 4, 5, 6, 6]))
        sext, negative, absolute = (int(b) for b in rng.integers(0, 2, 3))
        sext &= kind[0] in "iu"
        negative, absolute = (int(b and M.has_sign(kind)) for b in (negative, absolute))
        fields |= {f"src{slot}_sel": selection, f"src{slot}_sext": sext,
                   f"src{slot}_neg": negative, f"src{slot}_abs": absolute}  # fmt: skip
        width = lanes_of.bits_of(kind)
        bits = [M.sdwa_select(w, selection, sext=sext) & mask(width) for w in words]
        if M.has_sign(kind):
            bits = [
                M.with_sign(kind, b, negative=negative, absolute=absolute) for b in bits
            ]
        columns.append(bits)
        slot += 1
    known = {n for n, _ in cls._fields}
    case.selection, case.unused = int(rng.integers(0, 7)), int(rng.integers(0, 3))
    out = case.ref.out.split()[0]
    fields["clmp"] = int(out[0] == "f" and not case.ref.ulp and rng.integers(0, 2))
    fields |= {"dst_sel": case.selection, "dst_unused": case.unused, "sd": 1,
               "sdst": COMPARE_OUT}  # fmt: skip
    case.run(
        fields_of(cls, case.ref, **{k: v for k, v in fields.items() if k in known})
    )
    clamp = bool(fields["clmp"]) and "clmp" in known
    results, carries = case.results(columns, clamp=clamp)
    return case.compare(results, carries, case.active, sdwa_differs)


SDWA = {"VOP1": "VOP1_SDWA", "VOP2": "VOP2_SDWA", "VOPC": "VOPC_SDWA_SDST"}


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_sdwa(arch):
    bad = []
    for cls, op, name in selected(arch, SDWA):
        ref = lanes_of.rows(arch)[name]
        # A part of an approximation, or of a NaN, says nothing.
        if cls.__name__ in SDWA and narrow(ref) and not ref.ulp:
            variant = families.encoding_class(arch, SDWA[cls.__name__])
            bad += run_sdwa(arch, variant, op, name)
    assert bad == []


def moved(case, source, words):
    """The first operand, from the lanes that each lane reads."""
    per_wave = case.m.lanes
    return [
        0 if s is None else words[k - k % per_wave + s] for k, s in enumerate(source)
    ]


def dpp16_plan(case, control, fields):
    lanes = case.m.lanes
    source, writes = [], []
    for k in range(COUNT):
        wave = case.active[k - k % lanes :][:lanes]
        s, w = M.dpp16(control, wave, k % lanes, bound=fields["bc"],
                       fetch_inactive=fields.get("fi", 0))  # fmt: skip
        on = M.enabled(k % lanes, fields["row_mask"], fields["bank_mask"])
        source.append(s)
        writes.append(bool(w and on and case.active[k]))
    return source, writes


def dpp8_plan(case, lanes_sel, fetch_inactive):
    source = []
    for k in range(COUNT):
        at = k & ~7 | lanes_sel[k & 7]
        there = fetch_inactive or case.active[at]
        source.append(at % case.m.lanes if there else None)
    return source, [bool(a) for a in case.active]


def dpp_fields(case, control):
    known = {n for n, _ in case.cls._fields}
    rng = case.rng
    fields = {
        "dpp": control, "bc": int(rng.integers(0, 2)), "fi": int(rng.integers(0, 2)),
        "row_mask": int(rng.choice([15, 15, 10, 5, 7])),
        "bank_mask": int(rng.choice([15, 15, 12, 9])),
    }  # fmt: skip
    return {k: v for k, v in fields.items() if k in known}


def sign_fields(case):
    """Signs of DPP stand in other fields than those of VOP3."""
    known = {n for n, _ in case.cls._fields}
    if "neg" in known:
        return {k: v for k, v in modified_fields(case).items() if k != "omod"}, {}
    chosen, fields = {"neg": 0, "abs": 0}, {}
    kinds = [k for k in case.kinds if ":" not in k and k not in ("m", "vcc")]
    for slot, kind in enumerate(kinds[:2]):
        for what in ("neg", "abs"):
            name = f"src{slot}_{what}"
            if M.has_sign(kind) and name in known and case.rng.integers(0, 2):
                fields[name] = 1
                chosen[what] |= 1 << slot
    return chosen, fields


def run_dpp(arch, cls, op, name, control):
    case = Case(arch, cls, op, name)
    chosen, more = sign_fields(case)
    if "DPP8" in cls.__name__:
        select = [int(k) for k in case.rng.integers(0, 8, 8)]
        inactive = int(case.rng.integers(0, 2))
        fields = {f"lane_sel_{k}": s for k, s in enumerate(select)}
        fields |= {"src0": 233 + inactive}
        source, writes = dpp8_plan(case, select, inactive)
    else:
        fields = {**dpp_fields(case, control), "src0": 250}
        source, writes = dpp16_plan(case, control, fields)
    fields |= more | ({} if more or "neg" not in dict(cls._fields) else chosen)
    fields["vsrc0"] = SOURCES[0] + VGPR
    case.high = bool(chosen.get("opsel", 0) >> 3 & 1)
    case.run(fields_of(cls, case.ref, **fields))
    words = [moved(case, source, case.words[0]), *case.words[1:]]
    results, carries = case.results(
        operand_columns(case, chosen, words), clamp=bool(chosen.get("clmp"))
    )
    return case.compare(results, carries, writes, plain_store)


def dpp_classes(arch, suffix, *, every=True):
    """Instructions and the DPP form of their encoding; 64 bits have other rules."""
    module = {c.__name__ for c in families.all_classes(arch)}
    found = selected(arch, ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD"))
    for cls, op, name in families.share(arch, found, every=every):
        variant = f"{cls.__name__.partition('_')[0]}_{suffix}"
        ref = lanes_of.rows(arch)[name]
        plain = "LIT" not in cls.__name__ and "64" not in ref.ins + ref.out
        if variant in module and plain:
            yield families.any_class(arch, variant), op, name


@families.EXTENT
@pytest.mark.parametrize("suffix", ["DPP16", "DPP8"])
@pytest.mark.parametrize("arch", families.ARCHES)
def test_dpp(arch, suffix, every):
    family = "cdna" if arch.startswith("gfx9") else "rdna"
    controls = M.CONTROLS[family]
    bad = []
    for at, (cls, op, name) in enumerate(dpp_classes(arch, suffix, every=every)):
        bad += run_dpp(arch, cls, op, name, controls[-1 - at * 7 % len(controls)])
    assert bad == []


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_dpp_of_64_bits(arch):
    """Only ROW_NEWBCAST reads pairs of registers (CDNA3 ISA, DPP)."""
    module = {c.__name__ for c in families.all_classes(arch)}
    bad, seen = [], 0
    for cls, op, name in selected(arch, ("VOP1", "VOP2")):
        variant = f"{cls.__name__}_DPP16"
        ref = lanes_of.rows(arch)[name]
        if variant in module and "64" in ref.ins and not ref.ulp:
            seen += 1
            bad += run_dpp(arch, families.any_class(arch, variant), op, name, 0x153)
    assert bad == []
    assert seen > 5


@pytest.mark.parametrize("arch", families.ARCHES)
def test_every_dpp_control(arch):
    family = "cdna" if arch.startswith("gfx9") else "rdna"
    moves = [c for c in dpp_classes(arch, "DPP16") if c[2] == "V_MOV_B32"]
    bad = []
    for control in M.CONTROLS[family][:: 8 if arch in ("gfx90a", "gfx950") else 1]:
        bad += run_dpp(arch, *moves[0], control)
    assert bad == []
