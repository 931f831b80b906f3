"""A wave starts with the first words of its arguments, whoever has loaded them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wave_backend_asm.assemble.document import Argument, Kernel, document
from wave_backend_asm.assemble.start import Start
from wave_backend_asm.bindings import assemble
from wave_emulator_amdgcn import emulate, load

CHIPS = ("gfx90a", "gfx942", "gfx950")


def storing(count):
    """A kernel of a buffer and words, that stores so many words of its arguments."""
    words = Start(2 + count)
    start = words.first_argument
    code = ["v_mov_b32 v0, 0"]
    for at in range(count):
        code += [f"v_mov_b32 v1, s{start + 2 + at}",
                 f"global_store_dword v0, v1, s[{start}:{start + 1}] offset:{4 * at}",
                 "s_nop 1"]  # fmt: skip
    arguments = (Argument(pointer=True), *[Argument(pointer=False)] * count)
    used = {"v": 2, "s": words.first_group + 3}
    return Kernel("k", "gfx942", arguments, (*code, "s_endpgm"), used, 64, start=words)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("count", [1, 5, 12])
def test_the_first_words_are_there(chip, count):
    given = tuple(range(7, 7 + count))
    code = load(assemble(document(replace(storing(count), chip=chip)), chip))
    found = np.zeros(16, np.int32)
    assert emulate(code, (found,), grid=(1, 1, 1), constants=given).reports == ()
    assert tuple(found[:count]) == given
    assert code.kernel().descriptor.preload_dwords == 2 + count


@pytest.mark.parametrize("count", [1, 5, 12])
def test_code_in_front_loads_the_same_words(count):
    """As where nobody has: the prologue is all that fills the registers."""
    kernel = storing(count)
    loads = kernel.start.prologue()[:-3]
    moved = [line.replace("s[0:1], ", "s[20:21], ") for line in loads]
    cleared = [f"s_mov_b32 s{n}, 0" for n in range(2, 2 + kernel.start.preloaded)]
    code = ("s_mov_b64 s[20:21], s[0:1]", *cleared, *moved, *kernel.code)
    used = {**kernel.used, "s": 22}
    text = document(replace(kernel, code=code, used=used))
    found, given = np.zeros(16, np.int32), tuple(range(7, 7 + count))
    code = load(assemble(text, "gfx942"))
    result = emulate(code, (found,), grid=(1, 1, 1), constants=given)
    assert result.reports == ()
    assert tuple(found[:count]) == given


def test_no_more_words_are_there_than_registers():
    assert Start(40).preloaded == 14
    assert Start(40).first_group == 16
    assert Start(0).prologue() == []
    assert Start(0).first_group == 2
