"""Libraries in repositories of the layout that Hugging Face's `kernels` loads.

A repository has ``build/<variant>/`` for each build, with ``metadata.json``, whose
``digest`` has the SHA-256 of every file; ``torch210-cxx11-cu128-x86_64-linux`` and
``torch-cuda`` are variants. Source: huggingface/kernels, docs, kernel requirements.

`kernels` imports the Python in a variant. Here the library in it is read as data, and
nothing is executed: code for GPUs depends neither on torch nor on its ABI.
"""

from __future__ import annotations

import platform
import re
import sys
from base64 import b64decode
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wave_runtime.artifact import MAX_CODE, read_plain
from wave_runtime.errors import ArtifactError
from wave_runtime.library import INDEX, Library

if TYPE_CHECKING:
    from wave_runtime.signing import Trust

METADATA = "metadata.json"
MAX_METADATA = 1 << 24

_VARIANT = re.compile(
    r"torch(?P<torch>\d*)(-cxx\d+)?-(?P<backend>[a-z]+)(?P<version>\d*)"
    r"(-(?P<machine>[a-z0-9_]+)-(?P<system>[a-z]+))?"
)
_FOR_ANY = "universal"
_KINDS = {"cu": "cuda", "cuda": "cuda", "rocm": "rocm", _FOR_ANY: _FOR_ANY}


class _Digest(msgspec.Struct, frozen=True):
    algorithm: str
    files: dict[str, str]


class _Metadata(msgspec.Struct, frozen=True):
    digest: _Digest


@dataclass(frozen=True)
class HubVariant:
    """A build in a repository.

    Attributes:
        folder: Where it is.
        backend: ``cuda``, ``rocm`` or ``universal``.
        machine: The processor it is for, such as ``x86_64``; empty for any.
        system: The operating system; empty for any.
    """

    folder: Path
    backend: str
    machine: str = ""
    system: str = ""

    def runs_on(self, backend: str, machine: str, system: str) -> bool:
        """Whether it is for this machine."""
        kinds = self.backend in (backend, _FOR_ANY)
        return kinds and self.machine in ("", machine) and self.system in ("", system)


def hub_variants(repository: Path) -> tuple[HubVariant, ...]:
    """The builds of a repository that have a library of Wave, by name.

    Raises:
        ArtifactError: where the folder is no repository of that layout.
    """
    build = repository / "build"
    if not build.is_dir():
        raise ArtifactError(f"{repository} has no folder `build`")
    found = (_variant(folder) for folder in sorted(build.iterdir()))
    return tuple(each for each in found if each is not None)


def _variant(folder: Path) -> HubVariant | None:
    parts = _VARIANT.fullmatch(folder.name)
    kind = None if parts is None else _KINDS.get(parts["backend"])
    if parts is None or kind is None or _library_in(folder) is None:
        return None
    return HubVariant(folder, kind, parts["machine"] or "", parts["system"] or "")


def _library_in(variant: Path) -> Path | None:
    """The folder of the library: the variant itself, or one in it."""
    inside = sorted(each for each in variant.iterdir() if each.is_dir())
    return next((each for each in (variant, *inside) if (each / INDEX).exists()), None)


def open_hub(
    repository: Path, backend: str = "cuda", trust: Trust | None = None
) -> Library:
    """The library of a repository for this machine.

    A build for this machine and backend comes before one for all.

    Args:
        repository: A folder that was fetched already; nothing is downloaded.
        backend: ``cuda`` or ``rocm``.
        trust: As for `Library.open`.

    Raises:
        ArtifactError: where no build is for this machine, or files are not what
            ``metadata.json`` says.
    """
    here = backend, platform.machine().lower(), sys.platform
    variants = hub_variants(repository)
    fitting = [each for each in variants if each.runs_on(*here)]
    if not fitting:
        names = ", ".join(each.folder.name for each in variants) or "none"
        raise ArtifactError(
            f"{repository} has no library for {' '.join(here)}; it has: {names}"
        )
    best = min(fitting, key=lambda each: (each.backend == _FOR_ANY, each.folder.name))
    _check_digests(best.folder)
    library = _library_in(best.folder)
    assert library is not None, "variants without one are left out"
    return Library.open(library, trust)


def _check_digests(variant: Path) -> None:
    """See that files are those of the metadata; without any there is nothing to see."""
    path = variant / METADATA
    if not path.exists():
        return
    try:
        found = msgspec.json.decode(read_plain(path, MAX_METADATA), type=_Metadata)
        digests = {name: b64decode(text) for name, text in found.digest.files.items()}
    except ValueError as error:
        raise ArtifactError(f"{path} is no metadata of a kernel: {error}") from None
    if found.digest.algorithm != "sha256":
        raise ArtifactError(f"{path} has digests by {found.digest.algorithm}")
    for name, wanted in digests.items():
        place = Path(name)
        if place.is_absolute() or ".." in place.parts:
            raise ArtifactError(f"{path} names {name!r}, which is outside")
        if sha256(read_plain(variant / place, MAX_CODE)).digest() != wanted:
            raise ArtifactError(f"{variant / place} is not what {METADATA} says")
