"""What the emulator executes: the words of each instruction, and its operands.

A row of `ROWS` has opcodes, the words that stand behind them, and operands. A word with
``?`` may be left out, those between brackets come in any order, ``a|b`` is one of both,
and names in capitals are those of `CLASSES`; a line that is indented goes on. An
instruction that no row takes whole is refused, so that nothing is executed of which a
word or an operand was passed over.

Source: the syntax of each instruction in sections 9.7.1 to 9.7.15 of the PTX ISA, less
what nothing here computes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.syntax import (
    Address,
    Instruction,
    Name,
    Not,
    Number,
    Operand,
    Pair,
    Sum,
    Tuple,
)

CLASSES = {
    "INTEGER": "u16|u32|u64|s16|s32|s64",
    "SIGNED": "s16|s32|s64",
    "UNSIGNED": "u16|u32|u64",
    "BITS": "b16|b32|b64",
    "HALF": "f16|f16x2",
    "BRAIN": "bf16|bf16x2",
    "ANY": "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
    "WHOLE": "u8|u16|u32|u64|s8|s16|s32|s64",
    "ROUNDED": "rn|rz|rm|rp",
    "INTEGRAL": "rni|rzi|rmi|rpi",
    "ORDERED": "eq|ne|lt|le|gt|ge",
    "UNORDERED": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan",
    "BOOL": "and|or|xor",
    "VECTOR": "v2|v4|v8",
    "SCOPE": "cta|cluster|gpu|sys",
    "SHARED": "shared|shared::cta|shared::cluster",
    "LOADED": "global|shared|shared::cta|shared::cluster|local|param|const",
    "STORED": "global|shared|shared::cta|shared::cluster|local",
    "CACHED": "ca|cg|cs|lu|cv|wb|wt",
    "FIRST": "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last"
    "|L1::no_allocate",
    "SECOND": "L2::evict_normal|L2::evict_first|L2::evict_last",
    "AHEAD": "L2::64B|L2::128B|L2::256B",
    "HINT": "L2::cache_hint",
    "DIMENSIONS": "1d|2d|3d|4d|5d",
    "BYTES": "mbarrier::complete_tx::bytes",
    "COPIED": "shared::cta|shared::cluster",
    "SPACE": "global|shared|shared::cta|shared::cluster",
    "ORDER": "relaxed|acquire|release|acq_rel",
    "REDUCED": "add|min|max|and|or|xor",
    "GROUPED": r"m64n\d+k\d+",
    "MULTIPLIED": "f16|bf16|tf32|e4m3|e5m2|s8|u8",
    "SMALL": "e4m3|e5m2",
    "OCTET": "s8|u8",
}

ROWS = """
add sub         : INTEGER                                      : r v v
add             : u16x2|s16x2                                  : r v v
add sub         : sat s32                                      : r v v
add             : ROUNDED? ftz? sat? f32                       : r v v
sub mul         : rn? ftz? sat? f32                            : r v v
add sub mul     : rn? f64                                      : r v v
add sub mul     : rn? sat? HALF                                : r v v
add sub mul     : rn? BRAIN                                    : r v v
mul             : lo|hi INTEGER                                : r v v
mul             : wide u16|u32|s16|s32                         : r v v
mad             : lo|hi INTEGER                                : r v v v
mad             : wide u16|u32|s16|s32                         : r v v v
fma mad         : rn ftz? sat? f32                             : r v v v
fma mad         : rn f64                                       : r v v v
fma             : rn sat? HALF                                 : r v v v
fma             : rn relu? HALF|BRAIN                          : r v v v
div rem         : INTEGER                                      : r v v
div             : approx|full|rn ftz? f32                      : r v v
div             : rn f64                                       : r v v
min max         : INTEGER|u16x2|s16x2                          : r v v
min max         : ftz? NaN? f32                                : r v v
min max         : f64                                          : r v v
min max         : NaN? HALF|BRAIN                              : r v v
neg abs         : SIGNED                                       : r v
neg abs         : ftz? f32                                     : r v
neg abs         : f64|HALF|BRAIN                               : r v
sad             : INTEGER                                      : r v v v
sqrt rcp        : approx|rn ftz? f32                           : r v
sqrt rcp        : rn f64                                       : r v
rsqrt           : approx f64                                   : r v
rsqrt ex2 lg2   : approx ftz? f32                              : r v
sin cos         : approx ftz? f32                              : r v
ex2             : approx HALF                                  : r v
tanh            : approx f32|HALF|BRAIN                        : r v
copysign        : f32|f64                                      : r v v
and or xor      : BITS                                         : r v v
and or xor      : pred                                         : r p p
not             : BITS                                         : r v
not             : pred                                         : r p
cnot            : BITS                                         : r v
popc clz brev   : b32|b64                                      : r v
shl             : BITS                                         : r v v
shr             : BITS|INTEGER                                 : r v v
shf             : l|r clamp|wrap b32                           : r v v v
bfind           : shiftamt? u32|u64|s32|s64                    : r v
bfe             : u32|u64|s32|s64                              : r v v v
bfi             : b32|b64                                      : r v v v v
prmt            : b32                                          : r v v v
lop3            : b32                                          : r v v v n
setp            : eq|ne BOOL? BITS                             : q v v b
setp            : ORDERED BOOL? SIGNED                         : q v v b
setp            : ORDERED|lo|ls|hi|hs BOOL? UNSIGNED           : q v v b
setp            : UNORDERED BOOL? ftz? f32                     : q v v b
setp            : UNORDERED BOOL? f64                          : q v v b
setp            : UNORDERED BOOL? f16|bf16                     : r v v b
setp            : UNORDERED BOOL? f16x2|bf16x2                 : 2p v v b
set             : eq|ne u32|s32|f32 BITS                       : r v v
set             : ORDERED u32|s32|f32 SIGNED                   : r v v
set             : ORDERED|lo|ls|hi|hs u32|s32|f32 UNSIGNED     : r v v
set             : UNORDERED ftz? u32|s32|f32 f32               : r v v
set             : UNORDERED u32|s32|f32 f64                    : r v v
set             : UNORDERED f16 f16                            : r v v
set             : UNORDERED bf16 bf16                          : r v v
set             : UNORDERED f16x2 f16x2                        : r v v
set             : UNORDERED bf16x2 bf16x2                      : r v v
selp            : BITS|INTEGER|f32|f64                         : r v v p
slct            : BITS|INTEGER|f32|f64 s32|f32                 : r v v v
mov             : pred                                         : r p
mov             : BITS|INTEGER|f32|f64                         : r v
mov             : b16|b32|b64                                  : 2|4 v
mov             : b16|b32|b64                                  : r 2|4
cvt             : WHOLE WHOLE                                    : r v
cvt             : sat u8|s8 u16|u32|u64|s16|s32|s64              : r v
cvt             : sat u16|s16 u32|u64|s32|s64                    : r v
cvt             : sat u32|s32 u64|s64                            : r v
cvt             : sat u8|u16|u32|u64 s8                          : r v
cvt             : sat u16|u32|u64 s16                            : r v
cvt             : sat u32|u64 s32                                : r v
cvt             : sat u64 s64                                    : r v
cvt             : sat s8 u8                                      : r v
cvt             : sat s16 u16                                    : r v
cvt             : sat s32 u32                                    : r v
cvt             : sat s64 u64                                    : r v
cvt             : ROUNDED f16|bf16|f32|f64 WHOLE                 : r v
cvt             : INTEGRAL ftz? sat? WHOLE f32                   : r v
cvt             : INTEGRAL sat? WHOLE f16|f64                    : r v
cvt             : INTEGRAL WHOLE bf16                            : r v
cvt             : INTEGRAL? ftz? sat? f32 f32                    : r v
cvt             : INTEGRAL? sat? f64 f64                         : r v
cvt             : INTEGRAL? sat? f16 f16                         : r v
cvt             : INTEGRAL? bf16 bf16                            : r v
cvt             : ftz? sat? f32 f16                              : r v
cvt             : ftz? f32 bf16                                  : r v
cvt             : ftz? sat? f64 f32                              : r v
cvt             : sat? f64 f16                                   : r v
cvt             : f64 bf16                                       : r v
cvt             : ROUNDED ftz? sat? f32 f64                      : r v
cvt             : ROUNDED ftz? sat? f16 f32                      : r v
cvt             : ROUNDED ftz? bf16 f32                          : r v
cvt             : ROUNDED sat? f16 f64                           : r v
cvt             : ROUNDED bf16 f64                               : r v
cvt             : rn|rz relu f16|bf16 f32                        : r v
cvt             : rn|rz relu? f16x2|bf16x2 f32                   : r v v
cvt             : rn|rz [relu? satfinite] f16x2 f32            : r v v
cvt             : rn [relu? satfinite] e4m3x2|e5m2x2 f32       : r v v
cvt             : rn [relu? satfinite] e4m3x2|e5m2x2 f16x2     : r v
cvt             : rn relu? f16x2 e4m3x2|e5m2x2                 : r v
cvt             : rna tf32 f32                                 : r v
cvta            : to? LOADED u32|u64                           : r v
ld              : [weak? LOADED? nc? CACHED? FIRST? SECOND? AHEAD? HINT?] VECTOR? ANY
                : * m h
ld              : [volatile LOADED? AHEAD?] VECTOR? ANY        : * m
ld              : [relaxed|acquire SCOPE LOADED? FIRST? SECOND? AHEAD? HINT?] VECTOR?
                  ANY : * m h
ld              : [mmio relaxed sys global?] ANY               : * m
ldu             : global? VECTOR? ANY                          : * m
st              : [weak? STORED? CACHED? FIRST? SECOND? HINT?] VECTOR? ANY : m * h
st              : [volatile STORED?] VECTOR? ANY               : m *
st              : [relaxed|release SCOPE STORED? FIRST? SECOND? HINT?] VECTOR? ANY
                : m * h
st              : [mmio relaxed sys global?] ANY               : m *
atom            : [ORDER? SCOPE? SPACE?] add HINT? u32|s32|u64 : r m v h
atom            : [ORDER? SCOPE? SPACE?] REDUCED HINT? f32|f64 : r m v h
atom            : [ORDER? SCOPE? SPACE?] add noftz HINT? HALF|BRAIN : r m v h
atom            : [ORDER? SCOPE? SPACE?] min|max HINT? u32|s32|u64|s64 : r m v h
atom            : [ORDER? SCOPE? SPACE?] BOOL HINT? b32|b64    : r m v h
atom            : [ORDER? SCOPE? SPACE?] inc|dec HINT? u32     : r m v h
atom            : [ORDER? SCOPE? SPACE?] exch HINT? b32|b64    : r m v h
atom            : [ORDER? SCOPE? SPACE?] cas HINT? BITS        : r m v v h
red             : [relaxed|release? SCOPE? SPACE?] add HINT? u32|s32|u64 : m v h
red             : [relaxed|release? SCOPE? SPACE?] REDUCED HINT? f32|f64 : m v h
red             : [relaxed|release? SCOPE? SPACE?] add noftz HINT? HALF|BRAIN : m v h
red             : [relaxed|release? SCOPE? SPACE?] min|max HINT? u32|s32|u64|s64 : m v h
red             : [relaxed|release? SCOPE? SPACE?] BOOL HINT? b32|b64 : m v h
red             : [relaxed|release? SCOPE? SPACE?] inc|dec HINT? u32 : m v h
shfl            : sync up|down|bfly|idx b32                    : q v v v v
vote            : sync all|any|uni pred                        : r p v
vote            : sync ballot b32                              : r p v
redux           : sync add|min|max u32|s32                     : r v v
redux           : sync BOOL b32                                : r v v
elect           : sync                                         : 2p v
activemask      : b32                                          : r
ldmatrix        : sync aligned m8n8 x1|x2|x4 trans? [SHARED?] b16 : * m
stmatrix        : sync aligned m8n8 x1|x2|x4 trans? [SHARED?] b16 : m *
mma             : sync aligned m16n8k8|m16n8k16 row col f32 f16 f16 f32 : t t t t
mma             : sync aligned m16n8k8|m16n8k16 row col f16 f16 f16 f16 : t t t t
mma             : sync aligned m16n8k8|m16n8k16 row col f32 bf16 bf16 f32 : t t t t
mma             : sync aligned m16n8k4|m16n8k8 row col f32 tf32 tf32 f32 : t t t t
mma             : sync aligned m8n8k4|m16n8k4|m16n8k8|m16n8k16 row col f64 f64 f64 f64
                : t t t t
mma             : sync aligned m8n8k16|m16n8k16|m16n8k32 row col satfinite? s32 OCTET
                  OCTET s32 : t t t t
mma             : sync aligned m16n8k16|m16n8k32 row col f32 SMALL SMALL f32 : t t t t
mma             : sync aligned m16n8k16|m16n8k32 row col f16 SMALL SMALL f16 : t t t t
wgmma           : fence|commit_group sync aligned              :
wgmma           : wait_group sync aligned                      : n
wgmma           : mma_async sync aligned GROUPED f16|f32|s32 MULTIPLIED MULTIPLIED
                  satfinite? : t r|4 r p n? n? n? n?
cp              : async commit_group                           :
cp              : async wait_all                               :
cp              : async wait_group                             : n
cp              : async ca|cg shared|shared::cta global HINT? AHEAD? : m m n h
cp              : async ca|cg shared|shared::cta global HINT? AHEAD? : m m n v h
cp              : async bulk commit_group                      :
cp              : async bulk wait_group read?                  : n
cp              : async bulk COPIED global BYTES HINT?         : m m v m h
cp              : async bulk global shared::cta bulk_group HINT? : m m v h
cp              : async bulk prefetch L2 global HINT?          : m v h
cp              : async bulk prefetch tensor DIMENSIONS L2 global tile? HINT? : c h
cp              : async bulk tensor DIMENSIONS COPIED global tile? BYTES HINT? : m c m h
cp              : async bulk tensor DIMENSIONS global shared::cta tile? bulk_group HINT?
                : c m h
cp              : reduce async bulk tensor DIMENSIONS global shared::cta REDUCED tile?
                  bulk_group HINT? : c m h
mbarrier        : init SHARED? b64                             : m v
mbarrier        : inval SHARED? b64                            : m
mbarrier        : arrive [release|relaxed? cta|cluster? SHARED?] b64 : r m v?
mbarrier        : arrive expect_tx|noComplete [release|relaxed? cta|cluster? SHARED?]
                  b64 : r m v
mbarrier        : expect_tx|complete_tx [relaxed? cta|cluster? SHARED?] b64 : m v
mbarrier        : test_wait parity? [acquire|relaxed? cta|cluster? SHARED?] b64 : r m v
mbarrier        : try_wait parity? [acquire|relaxed? cta|cluster? SHARED?] b64
                : r m v v?
setmaxnreg      : inc|dec sync aligned u32                     : n
mapa            : shared::cluster? u32|u64                     : r v v
getctarank      : shared::cluster? u32|u64                     : r v
fence           : sc|acq_rel|acquire|release? SCOPE            :
fence           : mbarrier_init release cluster                :
fence           : proxy async global|shared::cta|shared::cluster? :
fence           : proxy alias                                  :
membar          : cta|gl|sys                                   :
prefetch        : global|local? L1|L2                          : m
prefetch        : global SECOND                                : m
prefetch        : const|param? tensormap                       : m
prefetchu       : L1                                           : m
applypriority   : global? L2::evict_normal                     : m n
nanosleep       : u32                                          : v
griddepcontrol  : launch_dependents|wait                       :
bra             : uni?                                         : r
ret             : uni?                                         :
exit            :                                              :
bar             : cta? sync                                    : v v?
bar             : cta? arrive                                  : v v
bar             : warp sync                                    : v
barrier         : cta? sync aligned?                           : v v?
barrier         : cta? arrive aligned?                         : v v
barrier         : cluster arrive release|relaxed? aligned?     :
barrier         : cluster wait acquire? aligned?               :
"""

OPERANDS = {
    "r": ("r", "a register or a label"),
    "v": ("rns", "a value"),
    "p": ("rn!", "a predicate"),
    "n": ("n", "a number"),
    "m": ("m", "an [address]"),
    "c": ("c", "a [map, {coordinates}]"),
    "t": ("t", "{registers}"),
    "q": ("r|", "a register or a pair a|b"),
    "2p": ("|", "a pair a|b"),
}
"""What operands are, by the letters of the rows: see `_letter`. Besides these ``2`` is
so many registers in braces, ``*`` as many as a word says, ``h`` a cache's policy where
the words have a hint of one, and ``b`` a predicate where they join with one."""
COUNTED = {"v2": 2, "v4": 4, "v8": 8, "x1": 1, "x2": 2, "x4": 4}
JOINED = frozenset({"and", "or", "xor"})
HINTED = "L2::cache_hint"
MOST_GROUPS = 1 << 31
"""That a wait can tell from each other: its number is one of 32 bits with a sign."""


@dataclass(frozen=True)
class Word:
    """One of several words of a row, and whether it may be left out."""

    known: re.Pattern[str]
    optional: bool


@dataclass(frozen=True)
class Form:
    """A row: groups of words, each in any order, and operands."""

    words: tuple[tuple[Word, ...], ...]
    operands: tuple[str, ...]

    def taken(self, words: tuple[str, ...]) -> tuple[int, bool]:
        """How many of the words it takes, and whether it lacks none of its own."""
        at = 0
        for group in self.words:
            left = list(group)
            while at < len(words):
                found = [each for each in left if each.known.fullmatch(words[at])]
                if not found:
                    break
                left.remove(found[0])
                at += 1
            if not all(each.optional for each in left):
                return at, False
        return at, True

    def takes(self, letters: tuple[str, ...], words: tuple[str, ...]) -> bool:
        """Whether its operands are of these kinds."""
        left = list(letters)
        for each in self.operands:
            if each == "h" and HINTED not in words:
                continue
            if each == "b" and JOINED.isdisjoint(words):
                continue
            if left and _stands_for(each.rstrip("?"), left[0], words):
                left.pop(0)
            elif not each.endswith("?"):
                return False
        return not left


def _stands_for(asked: str, letter: str, words: tuple[str, ...]) -> bool:
    """Whether an operand of a letter may be where a row has this."""
    if asked == "*":
        count = next((COUNTED[each] for each in words if each in COUNTED), 1)
        return letter == f"t{count}" or (count == 1 and letter in OPERANDS["v"][0])
    if asked in {"h", "b"}:
        return letter in OPERANDS["p" if asked == "b" else "v"][0]
    return any(
        letter == f"t{each}" if each.isdigit() else letter[0] in OPERANDS[each][0]
        for each in asked.split("|")
    )


def _letter(operand: Operand) -> str:
    """What kind of operand it is; braces with how many they hold."""
    if isinstance(operand, Tuple):
        return f"t{len(operand.parts)}"
    if isinstance(operand, Address):
        return "c" if operand.coordinates else "m"
    return {Name: "r", Number: "n", Sum: "s", Not: "!", Pair: "|"}[type(operand)]


def check(instruction: Instruction) -> None:
    """Whether a row takes an instruction with all of its words and operands.

    Raises:
        UnknownInstructionError: EP0301, with the word or the operands that are wrong.
    """
    letters = tuple(map(_letter, instruction.operands))
    wrong = _wrong(instruction.opcode, instruction.modifiers, letters)
    if wrong:
        raise UnknownInstructionError(str(instruction), instruction.line, wrong)


def groups_left(instruction: Instruction) -> int:
    """How many of the last groups a wait is not for.

    Raises:
        UnknownInstructionError: EP0301, there cannot be so many.
    """
    (number,) = instruction.operands
    if not isinstance(number, Number) or not 0 <= number.value < MOST_GROUPS:
        reason = f"it leaves 0 to {MOST_GROUPS - 1} groups"
        raise UnknownInstructionError(str(instruction), instruction.line, reason)
    return number.value


@lru_cache(maxsize=4096)
def _wrong(opcode: str, words: tuple[str, ...], letters: tuple[str, ...]) -> str:
    """What is wrong; nothing where a row fits."""
    taken = [(*each.taken(words), each) for each in FORMS.get(opcode, ())]
    named = [form for at, whole, form in taken if whole and at == len(words)]
    if any(each.takes(letters, words) for each in named):
        return ""
    if named:
        return f"it takes {' or '.join(map(_described, named))}"
    at = max((at for at, _, _ in taken), default=0)
    if at == len(words):
        return "a word is missing behind it"
    return f"no form of it that is executed has `.{words[at]}` there"


def _described(form: Form) -> str:
    told = {each: text for each, (_, text) in OPERANDS.items()}
    known = [told.get(each.rstrip("?"), "registers") for each in form.operands]
    return ", ".join(known) or "no operands"


# ------------------------------------------------------------------ rows


def _form(words: str, operands: str) -> Form:
    return Form(tuple(_groups(words.split())), tuple(operands.split()))


def _groups(words: list[str]) -> Iterator[tuple[Word, ...]]:
    """Single words, and those between brackets together."""
    group: list[Word] = []
    within = False
    for each in words:
        within |= each.startswith("[")
        group.append(_word(each.strip("[]")))
        within &= not each.endswith("]")
        if not within:
            yield tuple(group)
            group = []


def _word(text: str) -> Word:
    names = text.removesuffix("?").split("|")
    known = "|".join(CLASSES.get(each, each) for each in names)
    return Word(re.compile(known), text.endswith("?"))


def _forms(rows: str) -> dict[str, list[Form]]:
    found: dict[str, list[Form]] = {}
    for row in re.sub(r"\n +", " ", rows.strip()).splitlines():
        opcodes, words, operands = re.split(r"\s:(?:\s|$)", row)
        for opcode in opcodes.split():
            found.setdefault(opcode, []).append(_form(words, operands))
    return found


FORMS = _forms(ROWS)
"""By opcode."""
