"""Code objects are those of IREE's linker, whoever links them."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from wave_backend_amdgpu.compile.backend import Settings, mlir_of
from wave_backend_amdgpu.compile.flags import DEBUG_INFO, code_flags
from wave_backend_amdgpu.compile.inprocess import InProcess
from wave_backend_amdgpu.compile.request import Form, Request
from wave_backend_amdgpu.compile.worker import Worker
from wave_backend_amdgpu.link.hand_on import hand_on
from wave_backend_amdgpu.link.read import HEADER, KernelObject, is_object, read_object
from wave_backend_amdgpu.link.toolbox import LinkError, Toolbox
from wave_backend_amdgpu.link.write import PAGE, write_code

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
from wave_backend_amdgpu.link import Toolbox
from wave_backend_amdgpu.link.read import read_object
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


def test_what_the_linker_refuses(monkeypatch):
    # The library is in this process already, from where it lies.
    monkeypatch.setattr("wave_backend_amdgpu.link.toolbox.ctypes.CDLL", lambda _: None)
    (package,) = find_spec("iree.compiler").submodule_search_locations
    toolbox = Toolbox(Path(package) / "_mlir_libs")
    identity = b"\x7fELF\2\1\1".ljust(16, b"\0")
    nothing = HEADER.pack(identity, 1, 0, 1, 0, 0, 0, 0, 64, 0, 0, 64, 0, 0)
    assert is_object(nothing)
    assert read_object(nothing) is None
    with pytest.raises(LinkError, match=r"iree-lld: .*error"):
        toolbox.code(nothing)


@pytest.mark.parametrize("machine", sorted({platform.machine(), "another"}))
def test_what_stands_in_for_the_linker(tmp_path, monkeypatch, machine):
    monkeypatch.setattr(platform, "machine", lambda: machine)
    tool, before, after = (tmp_path / name for name in ("tool", "kernel.o", "code"))
    tool.write_bytes(hand_on())
    tool.chmod(0o700)
    before.write_bytes(b"object")
    after.touch()
    command = [tool, "-flavor", "gnu", "-shared", before, "-o", after]
    subprocess.run(command, check=True)
    assert after.read_bytes() == b"object"
    before.unlink(missing_ok=True)
    assert subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode


def test_a_full_last_page_is_for_the_linker():
    def written(size):
        identity = b"\x7fELF\2\1\1\x40\3".ljust(16, b"\0")
        return write_code(
            KernelObject(identity, 0x54C, b"f", size, bytes(size), bytes(64), bytes(8))
        )

    full = [size for size in range(0, PAGE, 8) if written(size) is None]
    assert len(full) == 1
