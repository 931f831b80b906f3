"""What lanes of a warp, or warps of a group, do together is called convergently."""

from __future__ import annotations

import re

import pytest
from emulated_kernels import compiled, session
from test_boxes import boxed

from wave_core.compile.kernels import make_case

SHARED_WORDS = re.compile(r"\.aligned|\.sync|\bbar\.|barrier")
ASSEMBLY = re.compile(r'call [^"\n]*asm sideeffect "([^"]*)"[^\n]*')
GROUPS = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K2": 64, "WAVES_M": 2, "MMA_ROWS": 64}


def attention(target, **settings):
    factory = session().plugins.load_kernel("attention")
    shape = {"B": 1, "M": 128, "K2": 192}
    case = make_case(factory, "attention", shape, settings, target)
    asked = {"use_global_to_shared": True, "preset": "four-stage"}
    return compiled(case.kernel, case.options.subs, target, **asked)


KERNELS = {
    "boxes": (lambda: boxed("bf16", (128, 64, 192), 64, "four-stage"), "mbarrier"),
    "warpgroups": (lambda: attention("sm_90a", STAGED=1, **GROUPS), "wgmma"),
    "warps": (lambda: attention("sm_90"), "llvm.nvvm.mma"),
}


@pytest.mark.filterwarnings("ignore")  # a loop that stays as it is says so
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_done_together_is_convergent(name):
    make, word = KERNELS[name]
    text = make().generated.text
    assert word in text
    calls = [
        found.group()
        for found in ASSEMBLY.finditer(text)
        if SHARED_WORDS.search(found[1])
    ]
    calls += re.findall(r"call [^\n]*@llvm\.nvvm\.mma\.[^\n]*", text)
    assert bool(calls)
    for call in calls:
        assert re.search(r"\) convergent(, !dbg|$)", call), call
