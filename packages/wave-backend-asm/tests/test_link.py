"""Code objects of assembly are those of IREE's linker, whoever links them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from test_assemble import ADDED
from test_start import storing

from wave_backend_asm.assemble.apart import Assembler
from wave_backend_asm.assemble.document import document
from wave_backend_asm.assemble.serve import CODE, REFUSAL
from wave_backend_asm.bindings import assemble
from wave_isa_amdgcn.link.read import RELOCATION, read_object
from wave_isa_amdgcn.link.write import write_code

CHIPS = ("gfx90a", "gfx942", "gfx950")

KERNELS = {
    "lines": ADDED,
    "no lines": replace(ADDED, code=("s_endpgm",), files={}),
    "many lines": replace(
        ADDED,
        name="a_longer_name",
        code=(
            *(f".loc {1 + n % 3} {n % 97} 1\ns_nop 0" for n in range(2000)),
            "s_endpgm",
        ),
        files={1: "kernel.py", 2: "/of/another.py", 3: "third.py"},
    ),
    "words at the start": storing(12),
}

UNLINKED = """
import json, sys
from wave_isa_amdgcn.link import Toolbox
toolbox = Toolbox.found()
from wave_backend_asm.bindings import assemble
with toolbox.tools(linking=False):
    print(json.dumps([assemble(*row).hex() for row in json.load(sys.stdin)]))
"""


def objects_of(*texts):
    """The objects of texts for chips, unlinked, from a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", UNLINKED], input=json.dumps(texts), check=True,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return [bytes.fromhex(each) for each in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def assembler():
    found = Assembler()
    yield found
    found.close()


@pytest.fixture
def answer(assembler):
    def ask(text, chip):
        return assembler.ask(json.dumps([text, chip]).encode(), 60, 8192)

    return ask


def test_what_is_laid_out_is_what_the_linker_makes():
    texts = [
        (document(replace(kernel, chip=chip)), chip)
        for kernel in KERNELS.values()
        for chip in CHIPS
    ]
    for text, found in zip(texts, objects_of(*texts), strict=True):
        assert write_code(read_object(found)) == assemble(*text)


@pytest.mark.parametrize("name", KERNELS)
def test_the_process_answers_with_the_same(answer, name):
    text = document(KERNELS[name])
    assert answer(text, "gfx942") == CODE + assemble(text, "gfx942")


@pytest.mark.parametrize(
    "more",
    [
        ".rodata\n.long 7",
        '.section .data,"aw"\n.long 7',
        ".text\n.globl other\nother:\ns_endpgm",
        '.ident "by hand"',
        '.section .debug_line,"",@progbits\n.quad added',
    ],
)
def test_what_is_more_than_a_kernel_is_for_the_linker(answer, more):
    text = document(ADDED) + more + "\n"
    (found,) = objects_of((text, "gfx942"))
    assert read_object(found) is None
    assert answer(text, "gfx942") == CODE + assemble(text, "gfx942")


def test_a_file_without_lines_is_for_the_linker(answer):
    text = document(replace(ADDED, code=("s_endpgm",)))
    (found,) = objects_of((text, "gfx942"))
    assert read_object(found) is None
    assert answer(text, "gfx942") == CODE + assemble(text, "gfx942")


def test_lines_of_another_place_are_for_the_linker():
    (found,) = objects_of((document(ADDED), "gfx942"))
    lines = read_object(found)
    moved = RELOCATION.pack(lines.origin, 3, 1, 0)
    for other in (
        (lines.origin, 3, 1, 4), (lines.origin, 3, 2, 0), (lines.origin, 1, 1, 0),
        (len(lines.lines) - 7, 3, 1, 0),
    ):  # fmt: skip
        assert found.count(moved) == 1
        assert read_object(found.replace(moved, RELOCATION.pack(*other))) is None


def test_a_process_goes_on_after_a_refusal(answer):
    wrong = document(replace(ADDED, code=("v_wrong_b32 v0, v1",)))
    assert answer(wrong, "gfx942").startswith(REFUSAL + b"error: <inline asm>:")
    unknown = document(ADDED) + '.section .data,"aw"\n.reloc ., R_AMDGPU_REL32_LO, a\n'
    assert answer(unknown, "gfx942")[:1] in {CODE, REFUSAL}
    text = document(ADDED)
    assert answer(text, "gfx942") == CODE + assemble(text, "gfx942")
