"""Lines that are encoded here have the bytes that LLVM gives them, all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from test_assemble import ADDED
from test_link import KERNELS

from wave_backend_asm.assemble.document import Kernel, document
from wave_backend_asm.assemble.messages import AssemblerError
from wave_backend_asm.bindings import assemble
from wave_backend_asm.encode import opcodes
from wave_backend_asm.encode.instructions import machine_code
from wave_backend_asm.encode.kernel import encoded
from wave_backend_asm.encode.operands import UnknownError
from wave_backend_asm.machine import chips
from wave_backend_asm.machine.other_lanes import SWAPPED

CHIPS = ("gfx90a", "gfx942", "gfx950")
NUMBERS = (
    "0",
    "-16",
    "64",
    "65",
    "0xffffffff",
    "0x3f800000",
    "0x3e22f983",
    "0x12345",
    "0.5",
    "-4.0",
)
"""Numbers at the ends of what takes no word of its own, and floats that take none."""

FIRST_LINE = document(Kernel("k", "gfx942", (), ("s_here",), {}, 64)).split("\n")
FIRST_LINE = FIRST_LINE.index("s_here") + 1


def holding(chip, lines):
    return Kernel("k", chip, (), tuple(lines), {"v": 256, "a": 256, "s": 102}, 64)


def accepted(chip, lines):
    """The lines that LLVM takes."""
    try:
        assemble(document(holding(chip, lines)), chip)
    except AssemblerError as error:
        refused = {each.line - FIRST_LINE for each in error.messages}
        return [line for n, line in enumerate(lines) if n not in refused]
    return lines


def known(line):
    """Whether it is encoded here."""
    try:
        return bool(machine_code(line))
    except UnknownError:
        return False


def compare(chip, lines):
    """All have the same bytes; of those that do not, the first is named."""
    kernel = holding(chip, lines)
    found, want = encoded(kernel), assemble(document(kernel), chip)
    if found != want:
        for line in lines:
            one = holding(chip, [line])
            assert encoded(one) == assemble(document(one), chip), line
    assert found == want


def registers(file, *widths):
    """Of each width, far from zero where there is room, and aligned."""
    most = {"s": 80, "v": 200, "a": 140}[file]
    return [
        f"{file}{most + 7}" if width == 1 else f"{file}[{most}:{most + width - 1}]"
        for width in widths
    ]


SCALARS = registers("s", 1, 2)
LANES = registers("v", 1, 2)
FACTORS = [*registers("v", 1, 2, 4), *registers("a", 1, 2, 4)]
ANY = (*LANES, "s7", "vcc", *NUMBERS)


def listed(names, *operands, ends=("",)):
    """Each name with all combinations of operands and modifiers."""
    rows = [", ".join(row) for row in product(*operands)]
    return [f"{n} {row}{end}" for n in names for row in rows for end in ends]


def mixed(names, results, sources, counts, several):
    """Each name with results, and sources of one kind at a time and some others."""
    draw = np.random.default_rng(5)
    rows = []
    for name, result, count in product(names, results, counts):
        for kinds in product(LANES, repeat=count):
            rows.append(f"{name} {result}, {', '.join(kinds)}")
            for place in range(count):
                row = [*kinds]
                row[place] = draw.choice(sources)
                rows.append(f"{name} {result}, {', '.join(row)}")
        for _ in range(several):
            row = [draw.choice(sources) for _ in range(count)]
            rows.append(f"{name} {result}, {', '.join(row)}")
    return rows


def multiplied(names):
    """Products of all kinds of registers, added to numbers and in place."""
    return [
        f"{name} {result}, {left}, {right}, {onto}"
        for name in names
        for result in [*registers("v", 4, 8, 16), *registers("a", 4, 8, 16)]
        for left, right in product(FACTORS, repeat=2)
        for onto in (result, "0", "1", "0x3f800000", "0xc0000000", "0x12345678")
    ]


def some(lines, most=2000):
    """At most so many, as many of each name as there is room for."""
    names = {}
    for line in lines:
        names.setdefault(line.partition(" ")[0], []).append(line)
    draw, each = np.random.default_rng(9), most // len(names)
    found = []
    for row in names.values():
        found += draw.permutation(row)[:each].tolist()
    return found


NEGATED = ("-v9", "v9", "s9", "-s9", "4")
PACKED = (
    "", " op_sel:[0,1]", " op_sel_hi:[1,0]", " neg_lo:[1,0] neg_hi:[0,1]",
    " op_sel:[1,0,1] op_sel_hi:[0,1,0] neg_lo:[0,1,0] neg_hi:[1,0,1]",
)  # fmt: skip
BUFFERED = (
    " offen", " offen offset:16", " offen offset:4095 sc0", " offen sc0 sc1",
    " offen lds", " offen offset:8 lds", " offen nt", "", " offset:4",
)  # fmt: skip
MOVED = (
    "quad_perm:[1,0,3,2]", "row_shl:4", "row_shr:15", "row_ror:8", "wave_shr:1",
    "wave_shl:1", "row_mirror", "row_half_mirror", "row_bcast:15", "row_bcast:31",
)  # fmt: skip

ONE = [name for name in opcodes.VOP1 if name != "v_accvgpr_mov_b32"]
TWO = [name for name in opcodes.VOP2 if name != "v_cndmask_b32"]

LINES = {
    "one": listed(opcodes.SOP1, [*SCALARS, "exec", "m0"], [*SCALARS, "vcc", *NUMBERS]),
    "two": listed(
        opcodes.SOP2, [*SCALARS, "m0"], [*SCALARS, "exec", *NUMBERS],
        [*SCALARS, "vcc", *NUMBERS],
    ),
    "comparisons": listed(opcodes.SOPC, [*SCALARS, *NUMBERS], [*SCALARS, *NUMBERS]),
    "loads": listed(
        opcodes.SMEM, registers("s", 1, 2, 4, 8, 16), ["s[4:5]", "s[4:7]"],
        ["0", "4", "0xfffff", "s9"],
        ends=("", " offset:0", " offset:4", " offset:0xfffff"),
    ),
    "lanes, one": mixed(ONE, [*LANES, "s9"], (*ANY, *NEGATED), [1], 9),
    "lanes, two": mixed(
        TWO, LANES[:1], (*ANY, *NEGATED), [2], 30
    ) + mixed([f"{n}_e64" for n in TWO], LANES[:1], ANY, [2, 3], 5),
    "chosen": listed(
        ["v_cndmask_b32_e64"], LANES[:1], ["v9", "-v9", "s7", *NUMBERS],
        ["v9", "-v9", "s7", *NUMBERS], ["s[8:9]", "vcc"],
    ),
    "lanes, comparisons": mixed(
        [f"{n}_e64" for n in opcodes.VOPC], ["s[8:9]", "vcc"], (*ANY, *NEGATED), [2], 4
    ),
    "lanes, three": mixed(opcodes.VOP3, LANES, (*ANY, *NEGATED), [2, 3], 5),
    "masks": [
        line
        for name in opcodes.WITH_MASK
        for form in (name if "div" in name else f"{name}_e64",)
        for result in LANES
        for line in (
            *mixed([form], [f"{result}, s[8:9]"], ANY, [2, 3], 5),
            f"{form} {result}, vcc, v3, v4, s[6:7]",
        )
    ],
    "numbers": listed(opcodes.WITH_NUMBER, ["v2"], ["v3", "s4"], ["v5", "0x12345"],
                      ["v6", "0x3f800000"]),
    "packed": listed(opcodes.VOP3P, LANES, [*LANES, "s[8:9]", "0"], LANES, ends=PACKED)
    + listed(opcodes.VOP3P, LANES, LANES, ["s[8:9]", *LANES], LANES, ends=PACKED),
    "matrices": multiplied([name for name in opcodes.MFMA if "f8f6f4" not in name]),
    "older": [
        *opcodes.OLDER_MUBUF,
        *listed(
            ["buffer_load_dword", "buffer_store_dwordx4", "buffer_atomic_add_x2"],
            registers("v", 1, 2, 4), ["v5"], ["s[4:7]"], ["0", "s9"],
            ends=(" offen glc", " offen offset:4095 glc slc", " offen slc"),
        ),
        *multiplied(opcodes.OLDER_MFMA),
    ],
    "matrices of formats": listed(
        [n for n in opcodes.MFMA if "f8f6f4" in n], registers("v", 4, 16),
        registers("v", 4, 6, 8), registers("a", 4, 6, 8),
        ["0", "0x3f800000", *registers("v", 4, 16)],
        ends=("", " cbsz:4 blgp:4", " cbsz:2", " blgp:3"),
    ),
    "matrices with scales": listed(
        ["v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4"],
        registers("v", 4, 16), registers("v", 4, 8), registers("a", 4, 8),
        ["0", *registers("v", 4, 16)], ["v7", "s7"], ["v9"],
        ends=tuple(
            f" op_sel:[{a},{b},0] op_sel_hi:[{c},{d},0]{formats}"
            for a, b, c, d in product((0, 1), repeat=4)
            for formats in ("", " cbsz:4 blgp:4")
        ),
    ),
    "accumulators": listed(["v_accvgpr_read_b32"], ["v3"], ["a5", "a255"])
    + listed(["v_accvgpr_write_b32"], ["a3"], ["v5", "v255", "s4", "1"])
    + listed(["v_accvgpr_mov_b32"], ["a3"], ["a5", "v4"]),
    "other lanes": listed(
        ["v_mov_b32_dpp"], ["v3"], ["v5"],
        ends=tuple(f" {how} row_mask:{rows} bank_mask:0x5"
                   for how in MOVED for rows in ("0xf", "0xa")),
    ),
    "first from other lanes": listed(
        [f"{name}_dpp" for name in sorted(SWAPPED.values())], ["v3"], ["v5"], ["v255"],
        ends=(f" {MOVED[0]} row_mask:0xf bank_mask:0xf",),
    ),
    "one lane": listed(["v_readlane_b32"], ["s3"], ["v255"], ["0", "63", "s5"]),
    "parts": listed(
        ["v_cvt_f32_f16_sdwa", "v_mov_b32_sdwa", "v_cvt_f32_ubyte0_sdwa"], ["v3"],
        ["v5", "v255"],
        ends=tuple(f" dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:{part}"
                   for part in ("WORD_0", "WORD_1", "BYTE_0", "BYTE_3", "DWORD")),
    ),
    "lds": [
        f"{name} {', '.join(row)}{end}"
        for name in opcodes.DS
        for count in (2, 3)
        for row in product(
            *[["v7", *registers("v", 2, 3, 4), *registers("a", 1, 2, 3, 4)]] * count
        )
        for end in ("", " offset:65535")
    ],
    "buffers": [
        line
        for name in opcodes.MUBUF
        for line in listed(
            [name], [*registers("v", 1, 2, 3, 4), *registers("a", 1, 2, 3, 4)],
            ["v5", "off"], ["s[4:7]"], ["0", "s9", "m0"], ends=BUFFERED,
        )
    ] + listed(["buffer_load_dword", "buffer_load_dwordx4"], ["v5", "off"], ["s[4:7]"],
               ["0", "s9"], ends=BUFFERED)
    + ["buffer_inv sc1", "buffer_inv sc0 sc1", "buffer_wbl2 sc1", "buffer_inv"],
    "anywhere": listed(
        opcodes.GLOBAL, [*registers("v", 1, 2, 3, 4), *registers("a", 1, 4)],
        [*registers("v", 1, 2, 3, 4), "a9"], ["s[4:5]", "off"],
        ends=("", " offset:16", " offset:-16", " offset:4095 sc0 sc1", " nt"),
    ),
    "order": [
        "s_nop 0", "s_nop 7", "s_setprio 3", "s_barrier", "s_endpgm", "s_sleep 1",
        "s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(63)", "s_waitcnt lgkmcnt(0) vmcnt(17)",
        "s_waitcnt lgkmcnt(15)", "s_waitcnt expcnt(0)",
    ],
}  # fmt: skip

OF_GFX950 = {"matrices of formats", "matrices with scales"}
LATER = {"matrices", "numbers"}
LACKED = {
    "gfx90a": OF_GFX950 | LATER,
    "gfx942": OF_GFX950 | {"older"},
    "gfx950": {"older"},
}
"""Kinds of which a chip has none."""

ASKED = [
    (kind, chip) for kind, chip in product(LINES, CHIPS) if kind not in LACKED[chip]
]


@pytest.mark.parametrize(("kind", "chip"), ASKED)
def test_each_instruction_is_encoded_as_by_llvm(kind, chip):
    found = some(accepted(chip, [line for line in LINES[kind] if known(line)]))
    compare(chip, found)
    if chip == "gfx950" or kind == "older":
        every = {line.partition(" ")[0] for line in LINES[kind]}
        assert every == {line.partition(" ")[0] for line in found}


@pytest.mark.parametrize("chip", CHIPS)
def test_all_bits_of_caches_together_are_said_as_the_chip_says_them(chip):
    """Accesses may be volatile and not temporal; CDNA2 has one bit in both."""
    said = [
        chips.CHIPS[chip].spelt(name, f"offen{bits}")
        for name in ("buffer_load_dword", "buffer_store_dword")
        for bits in ("", " sc0", " nt", " sc0 sc1", " sc0 nt", " sc0 sc1 nt")
    ]
    lines = [f"{name} v1, v5, s[4:7], 0 {bits}" for name, bits in said]
    assert accepted(chip, lines) == lines
    compare(chip, lines)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("chip", CHIPS)
def test_a_kernel_is_what_llvm_and_the_linker_make(name, chip):
    kernel = replaced(KERNELS[name], chip)
    assert encoded(kernel) == assemble(document(kernel), chip)


def replaced(kernel, chip):
    """The same for a chip, a line at a time."""
    code = [line for each in kernel.code for line in each.split("\n")]
    fields = {**vars(kernel), "chip": chip, "code": tuple(code)}
    return Kernel(**fields)


@pytest.mark.parametrize("chip", CHIPS)
def test_lines_and_jumps_of_all_distances(chip):
    """The table has short codes for some steps of addresses and lines."""
    draw, code = np.random.default_rng(7), [".Lfirst:"]
    for number in range(300):
        far = draw.choice((0, 1, 2, 17, 18, 34, 35, 60, 900))
        code += [
            f".loc {draw.choice((1, 1, 2))} {draw.choice((1, 7, 8, 9, 16, 17, 400))} 3",
            f".Lat{number}:",
            *["v_mov_b32 v1, v2"] * far,
            f"s_cbranch_scc1 .Lat{draw.integers(max(0, number - 20), number + 1)}",
        ]
    code += ["s_branch .Lfirst", "s_endpgm"] if len(code) < 2000 else ["s_endpgm"]
    kernel = Kernel("jumps", chip, (), tuple(code), {"v": 3}, 64,
                    files={1: "/of/a.py", 2: "b.py"})  # fmt: skip
    assert encoded(kernel) == assemble(document(kernel), chip)


@pytest.mark.parametrize(
    "line",
    [
        "v_unheard_of v1, v2",
        "v_add_u32 v1, v2",
        "v_add_u32 a1, v2, v3",
        "v_add_u32 v1, v2, v3 clamp",
        "v_add_u32 v1, v2, 0x12345",
        "v_mul_f64 v[2:3], v[4:5], 0x3ff00000",
        "ds_read_b32 v1, v2 offset:65536",
        "buffer_load_dword v1, v2, s[3:6], 0 offen",
        "buffer_load_dword v1, v2, s[4:7], 0 offen offset:4096",
        "s_mov_b32 s1, s2, s3",
        "s_waitcnt vmcnt(64)",
        "s_branch nowhere",
        ".byte 1",
    ],
)
def test_what_is_not_known_is_left_to_llvm(line):
    assert encoded(ADDED) is not None
    kernel = holding("gfx942", ["s_nop 0", line])
    assert encoded(kernel) is None
