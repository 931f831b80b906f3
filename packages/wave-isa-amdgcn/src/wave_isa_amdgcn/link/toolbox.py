"""A folder beside which IREE looks for its linker.

IREE starts ``iree-lld`` for each code object, a program that loads all of the compiler
again: a third of the time of a small kernel. It looks for it beside its own library, by
the path that the library was loaded from. Here that is a folder of links in which
``iree-lld`` may be one that hands the object on unlinked.

The folder is there while the library is opened and while something is compiled, and no
longer: a compiler's process is ended without notice, most often while it gets ready.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from wave_isa_amdgcn.link.hand_on import hand_on
from wave_isa_amdgcn.link.read import is_object, read_object
from wave_isa_amdgcn.link.write import write_code

_LIBRARY, _LINKER, _DEVICE = "libIREECompiler.so", "iree-lld", "iree_platform_libs"
"""What IREE looks for beside its library: a linker, and functions of its devices."""

_SIGNED = {"LLD_VERSION": "IREE"}
"""What IREE gives its linker."""


class LinkError(Exception):
    """The linker refused an object; the message is its own."""


class Toolbox:
    """IREE's library, loaded so that the objects it makes can be had unlinked.

    One thread at a time.
    """

    def __init__(self, package: Path) -> None:
        """Load the library.

        Args:
            package: Where it is, with its linker and what else it looks for.
        """
        self._package = package
        self._hand_on = hand_on()
        self._folder = Path(tempfile.mkdtemp(prefix="wave-tools-"))
        self._folder.rmdir()
        with self.tools():
            ctypes.CDLL(str(self._folder / _LIBRARY))

    @classmethod
    def found(cls) -> Self | None:
        """The toolbox of this machine; none where IREE is not as it is known to be.

        To be called before IREE is imported.
        """
        spec = find_spec("iree.compiler")
        if sys.platform != "linux" or spec is None or _LIBRARY in _loaded():
            return None
        for each in spec.submodule_search_locations or ():
            package = Path(each) / "_mlir_libs"
            if (package / _LIBRARY).exists() and (package / _LINKER).exists():
                return cls(package)
        return None

    @contextmanager
    def tools(self, *, linking: bool = True) -> Generator[None]:
        """Have the folder meanwhile.

        Args:
            linking: Whether IREE links; otherwise its code objects are objects, which
                `code` links.
        """
        self._folder.mkdir(mode=0o700)
        try:
            for each in (_LIBRARY, _DEVICE, *([_LINKER] if linking else [])):
                (self._folder / each).symlink_to(self._package / each)
            if not linking:
                tool = self._folder / _LINKER
                tool.write_bytes(self._hand_on)
                tool.chmod(0o700)
            yield
        finally:
            shutil.rmtree(self._folder)

    def code(self, data: bytes) -> bytes:
        """The code object of an object, byte by byte as IREE's linker makes it.

        Raises:
            LinkError: where that refuses it.
        """
        if not is_object(data):
            return data
        kernel = read_object(data)
        found = None if kernel is None else write_code(kernel)
        return self._linked(data) if found is None else found

    def _linked(self, data: bytes) -> bytes:
        """By IREE's linker."""
        with tempfile.TemporaryDirectory(prefix="wave-link-") as place:
            before, after = Path(place) / "kernel.o", Path(place) / "kernel.hsaco"
            before.write_bytes(data)
            command = [str(self._package / _LINKER), "-flavor", "gnu", "-shared"]
            command += [str(before), "-o", str(after)]
            done = subprocess.run(  # noqa: S603 - IREE's own
                command, env=_SIGNED, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise LinkError(f"iree-lld: {done.stderr.strip()}")
            return after.read_bytes()


def linked(toolbox: Toolbox | None, make: Callable[[], bytes]) -> bytes:
    """The code object that IREE makes.

    Args:
        toolbox: What links it; ``None`` leaves it to IREE's own linker.
        make: Has IREE make it.

    Raises:
        LinkError: where its object is refused.
    """
    if toolbox is None:
        return make()
    with toolbox.tools(linking=False):
        found = make()
    return toolbox.code(found)


def _loaded() -> str:
    """The files that this process has in its memory."""
    return Path(f"/proc/{os.getpid()}/maps").read_text(encoding="utf-8")
