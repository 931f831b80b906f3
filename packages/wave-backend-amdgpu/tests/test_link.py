"""Code objects are those of IREE's linker, whoever links them."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from wave_backend_amdgpu.compile.backend import Settings, mlir_of
from wave_backend_amdgpu.compile.flags import DEBUG_INFO, code_flags
from wave_backend_amdgpu.compile.inprocess import InProcess
from wave_backend_amdgpu.compile.request import Form, Request
from wave_backend_amdgpu.compile.worker import Worker
from wave_isa_amdgcn.link.write import PAGE

WAIT_S = 60


@pytest.fixture(scope="module")
def worker():
    found = Worker()
    yield found
    found.close()


@pytest.fixture
def request_of(lowered):
    def make(name, target="gfx942"):
        graph, chip = lowered(name, target)
        settings = Settings()
        _, text = mlir_of(graph, chip, settings)
        return Request(text, Form.CODE, code_flags(chip, settings.code))

    return make


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("name", ["softmax", "gemm", "layer-norm"])
def test_what_is_linked_here_is_what_the_linker_makes(worker, request_of, name, target):
    """The last has a constant of a library, and is left to the linker."""
    asked = request_of(name, target)
    expected = InProcess().run(asked).output
    assert len(expected) > PAGE
    assert worker.run(asked, WAIT_S).output == expected


UNLINKED = """
import sys
from pathlib import Path
from wave_isa_amdgcn.link import Toolbox
from wave_isa_amdgcn.link.read import read_object
toolbox = Toolbox.found()
with toolbox.tools(linking=False):
    from wave_backend_amdgpu.bindings import Compiler
    text, *flags = sys.stdin.read().split("\\0")
    found = Compiler().code(text, tuple(flags), generated=True)
assert read_object(found).name == b"copy"
assert Toolbox.found() is None, "the library is loaded"
sys.stdout.buffer.write(toolbox.code(found))
"""


def test_the_compiler_hands_its_objects_on(worker, request_of):
    asked = request_of("copy")
    given = "\0".join([asked.text, *asked.flags])
    done = subprocess.run(
        [sys.executable, "-c", UNLINKED], input=given.encode(), capture_output=True,
        check=False,
    )  # fmt: skip
    assert not done.stderr
    assert done.stdout == worker.run(asked, WAIT_S).output


@pytest.mark.parametrize(
    "changes",
    [{"form": Form.PROGRAM}, {"intermediates": True}, {"verified": True}, {}],
    ids=lambda changes: next(iter(changes), "debug"),
)
def test_other_ways_through_the_compiler(worker, request_of, changes):
    asked = request_of("copy")
    debug = {"flags": (*asked.flags, DEBUG_INFO)}
    asked = msgspec.structs.replace(asked, **(changes or debug))
    answer = worker.run(asked, WAIT_S)
    assert not answer.errors
    assert answer == InProcess().run(asked)
