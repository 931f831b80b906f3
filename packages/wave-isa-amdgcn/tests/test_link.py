"""What links objects where no linker is started, and what is left to one."""

from __future__ import annotations

import platform
import subprocess

import pytest

from wave_isa_amdgcn.link import LinkError, Toolbox, linked
from wave_isa_amdgcn.link.hand_on import hand_on
from wave_isa_amdgcn.link.read import HEADER, KernelObject, is_object, read_object
from wave_isa_amdgcn.link.write import PAGE, write_code

IDENTITY = b"\x7fELF\2\1\1\x40\3".ljust(16, b"\0")

LINKER = """#!/bin/sh
case "$1 $2 $3 $5 $LLD_VERSION" in
"-flavor gnu -shared -o IREE") {} ;;
*) exit 2 ;;
esac
"""
"""A linker that does one thing with its object and its code object."""


def object_of(sections):
    """An object with so many sections of which nothing is known."""
    head = 64, 0, 0, 64, sections, 1
    rows = bytes(64 * sections)
    return HEADER.pack(IDENTITY, 1, 224, 1, 0, 0, 64, 0x54C, *head) + rows


@pytest.fixture
def toolbox(tmp_path, monkeypatch):
    """A toolbox beside a library that is none, with a linker that does one thing."""
    monkeypatch.setattr("wave_isa_amdgcn.link.toolbox.ctypes.CDLL", lambda _: None)

    def make(does):
        tool = tmp_path / "iree-lld"
        tool.write_text(LINKER.format(does), encoding="utf-8")
        tool.chmod(0o700)
        return Toolbox(tmp_path)

    return make


@pytest.mark.parametrize("sections", [0, 1, 2, 9, 11])
def test_other_objects_are_for_the_linker(toolbox, sections):
    given = object_of(sections)
    assert is_object(given)
    assert read_object(given) is None
    copies = toolbox('cp "$4" "$6"')
    assert copies.code(given) == given
    assert linked(copies, lambda: given) == given


def test_what_the_linker_refuses(toolbox):
    refuses = toolbox("echo wrong >&2; exit 1")
    with pytest.raises(LinkError, match="iree-lld: wrong"):
        linked(refuses, lambda: object_of(1))


def test_what_is_linked_stays_as_it_is(toolbox):
    code = HEADER.pack(IDENTITY, 3, 224, 1, 0, 0, 0, 0, 64, 0, 0, 64, 0, 0)
    assert linked(toolbox("exit 1"), lambda: code) == code
    assert linked(None, lambda: object_of(1)) == object_of(1)


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
        return write_code(
            KernelObject(IDENTITY, 0x54C, b"f", size, bytes(size), bytes(64), bytes(8))
        )

    full = [size for size in range(0, PAGE, 8) if written(size) is None]
    assert len(full) == 1
