"""Builds a library of kernels, in processes beside this one, and packs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from wave_core.diagnostics import user_error
from wave_kernels import __version__
from wave_kernels.building.calls import every_call
from wave_kernels.building.wheels import Wheel
from wave_kernels.building.workers import Outcome, outcomes
from wave_kernels.prebuilt import PACKAGE, sources_digest
from wave_runtime import Entry, Index, signature_of
from wave_runtime.library import GROUP, INDEX
from wave_runtime.signing import SIGNATURE

WORK = "wave_kernels.building.compiling:build"
NAME = "wave-kernels-prebuilt"


@dataclass(frozen=True)
class Wanted:
    """What to build.

    Attributes:
        targets: Machines, by name.
        only: Patterns of names of calls; all where there are none.
        processes: How many kernels are compiled at once.
        limit_s: Seconds that one may take.
        name: Of the wheel.
        key: A file with a private key to sign by.
    """

    targets: tuple[str, ...]
    only: tuple[str, ...] = ()
    processes: int = 2
    limit_s: float = 300.0
    name: str = NAME
    key: Path | None = None

    def pieces(self) -> list[tuple[str, str]]:
        """Names of calls, each with a target.

        Raises:
            UserError: WV0801 where no call has such a name.
        """
        names = [call.name for call in every_call()]
        patterns = self.only or ("*",)
        for pattern in patterns:
            if not any(fnmatch(name, pattern) for name in names):
                raise user_error(
                    "WV0801",
                    f"no call that is built has a name like `{pattern}`",
                    help=f"names are such as {names[0]}, {names[-1]}",
                )
        kept = [n for n in names if any(fnmatch(n, p) for p in patterns)]
        return [(name, target) for target in self.targets for name in kept]


@dataclass(frozen=True)
class Built:
    """A wheel, and what became of each kernel.

    Attributes:
        wheel: Its file.
        outcomes: In the order of `Wanted.pieces`.
    """

    wheel: Path
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Those that are not in the wheel."""
        return tuple(each for each in self.outcomes if each.problem)


def build_library(
    wanted: Wanted, output: Path, tell: Callable[[str, Outcome], None]
) -> Built:
    """Compile all that is wanted into a wheel.

    Args:
        wanted: What to build.
        output: A folder for the wheel.
        tell: Is told of each kernel when it is done.

    Raises:
        ArtifactError: where the key is none.
        OSError: where a file cannot be written.
        UserError: as `Wanted.pieces`; WV0719 where nothing could be built.
    """
    pieces = wanted.pieces()
    # Before anything is compiled: who edits meanwhile has another digest.
    sources = sources_digest()
    with TemporaryDirectory(prefix="wave-kernels-") as place:
        asked = [(*piece, place) for piece in pieces]
        found: list[Outcome] = []
        for each in outcomes(WORK, asked, wanted.processes, wanted.limit_s):
            found.append(each)
            tell(" ".join(pieces[each.number]), each)
        found.sort(key=lambda each: each.number)
        _check_some(pieces, found)
        files = _library_files(Path(place), found, sources, wanted.key)
    module = wanted.name.replace("-", "_")
    wheel = Wheel(
        wanted.name,
        __version__,
        f"Kernels of {PACKAGE}, compiled for {', '.join(wanted.targets)}.",
        (f"{PACKAGE}=={__version__}",),
        {GROUP: {wanted.name: module}},
        {f"{module}/{name}": data for name, data in files.items()},
    )
    return Built(wheel.write(output), tuple(found))


def _check_some(pieces: Sequence[tuple[str, str]], found: Sequence[Outcome]) -> None:
    """Refuse a wheel without kernels, with what is wrong with the first.

    Raises:
        UserError: WV0719.
    """
    if not all(each.problem for each in found):
        return
    name, target = pieces[found[0].number]
    raise user_error(
        "WV0719",
        f"no kernel could be built, `{name}` for {target} first of all",
        notes=found[0].problem,
    )


def _library_files(
    place: Path, found: Sequence[Outcome], sources: str, key: Path | None
) -> dict[str, bytes]:
    """The files of a library by name: index, signature, and artifacts."""
    rows = (each.result for each in found if not each.problem)
    entries = [msgspec.json.decode(row, type=Entry) for row in rows]
    entries.sort(key=lambda entry: entry.place)
    index = Index(PACKAGE, __version__, sources, tuple(entries)).to_json()
    files = {INDEX: index}
    if key is not None:
        files[SIGNATURE] = signature_of(index, key)
    for entry in entries:
        for path in sorted((place / entry.place).iterdir()):
            files[f"{entry.place}/{path.name}"] = path.read_bytes()
    return files
