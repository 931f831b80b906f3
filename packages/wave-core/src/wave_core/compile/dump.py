"""Files of the stages of a compilation, for people to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from wave_core.compile.files import write_all
from wave_core.diagnostics import Location, user_error

if TYPE_CHECKING:
    from wave_core.ir import Graph


@dataclass(frozen=True)
class Dumps:
    """Where the stages of compilations are written; nowhere by default.

    Attributes:
        intermediates: A folder for IR, MLIR, LLVM IR and assembly.
        binaries: A folder for code objects with their manifests, and modules.
        location: Where the user asks for them.
    """

    intermediates: str | None = None
    binaries: str | None = None
    location: Location | None = field(default=None, compare=False)

    def write(
        self,
        stem: str,
        graph: Graph,
        texts: Mapping[str, str],
        binaries: Mapping[str, bytes],
    ) -> None:
        """Write what is asked for, as ``stem`` with the given endings.

        The graph is printed only then: text has no shared parts, as expressions do.

        Raises:
            UserError: WV0823 for a folder that cannot be written.
        """
        if self.intermediates is not None:
            stages = {".wave": str(graph), **texts}
            encoded = {end: text.encode() for end, text in stages.items() if text}
            self._write("dump_intermediates", self.intermediates, stem, encoded)
        self._write("dump_binaries", self.binaries, stem, binaries)

    def _write(
        self, name: str, folder: str | None, stem: str, files: Mapping[str, bytes]
    ) -> None:
        if folder is None:
            return
        try:
            write_all(Path(folder), {f"{stem}{end}": files[end] for end in files})
        except OSError as error:
            raise _unfit(name, folder, error, self.location) from None


def _unfit(name: str, folder: str, error: OSError, at: Location | None) -> Exception:
    return user_error(
        "WV0823",
        f"option `{name}` is {folder!r}, which cannot be written: {error.strerror}",
        at=at,
        label="given here",
        help="give a folder; it is made where it is not there",
    )
