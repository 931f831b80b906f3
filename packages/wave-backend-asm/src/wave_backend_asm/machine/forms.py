"""What the mnemonic of an instruction says: who executes it, what it counts.

Rows are looked through in their order; the first whose expression fits is meant.
Source: CDNA3 ISA, the encodings of its instructions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from wave_isa_amdgcn.registers import EXEC_BITS, VCC_BITS


@dataclass(frozen=True)
class Form:
    """Instructions of one kind.

    Attributes:
        unit: what executes them, in the words of `Step`.
        counter: the counter that they raise.
        scalar: they complete in any order.
        stored: the operand that goes to memory.
        updates: they read their result, too.
        reads: registers that they read without naming them.
        writes: registers that they write without naming them.
    """

    unit: str
    counter: str = ""
    scalar: bool = False
    stored: int | None = None
    updates: bool = False
    reads: int = 0
    writes: int = 0


_SYNC = r"s_(nop|waitcnt|barrier|setprio|sleep|endpgm)"

_FORMS = tuple(
    (re.compile(expression), form)
    for expression, form in (
        (_SYNC, Form("sync")),
        (r"s_c?branch\w*", Form("branch")),
        (r"s_(buffer_)?load_\w+", Form("smem", "lgkm", scalar=True)),
        (r"s_\w+saveexec\w*", Form("salu", reads=EXEC_BITS, writes=EXEC_BITS)),
        (r"s_\w+", Form("salu")),
        (r"ds_write\w+", Form("lds", "lgkm", stored=1)),
        (r"ds_\w+", Form("lds", "lgkm")),
        (r"buffer_store_\w+", Form("vmem", "vm", stored=0)),
        (r"global_store_\w+", Form("vmem", "vm", stored=1)),
        (r"(buffer|global)_load_\w+", Form("vmem", "vm")),
        (r"buffer_atomic_\w+", Form("vmem", "vm", updates=True)),
        (r"buffer_wbl2", Form("vmem", "vm")),
        (r"buffer_(inv|invl2|wbinvl1_vol)", Form("vmem")),
        (r"v_mfma_\w+", Form("mfma")),
        (r"v_div_fmas_\w+", Form("valu", reads=VCC_BITS)),
        (r"v_(\w+_dpp|permlane\w+_swap_b32)", Form("valu", updates=True)),
        (r"v_\w+", Form("valu")),
    )
)

_ENCODING = re.compile(r"_(e32|e64|sdwa|dpp)$")


@cache
def form_of(mnemonic: str) -> Form:
    """The row of an instruction.

    Raises:
        ValueError: there is none.
    """
    for expression, form in _FORMS:
        if expression.fullmatch(mnemonic):
            return form
    raise ValueError(f"there is no instruction `{mnemonic}`")


@cache
def plain_name(mnemonic: str) -> str:
    """The name without its encoding, in capitals, as tables have it."""
    return _ENCODING.sub("", mnemonic).upper()
