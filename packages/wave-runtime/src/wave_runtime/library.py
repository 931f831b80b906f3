"""A library: many compiled kernels in one folder, and an index that says what each is.

The folder is data: JSON, and code for GPUs. The index has the digest of each manifest,
and a manifest that of its code, so that who signs the index signs everything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wave_runtime.artifact import (
    MANIFEST,
    Artifact,
    load_artifact,
    read_plain,
)
from wave_runtime.errors import ArtifactError
from wave_runtime.kernel import LoadedKernel
from wave_runtime.manifest import FORMS, decoded, digest
from wave_runtime.signing import SIGNATURE, Trust

if TYPE_CHECKING:
    from wave_runtime.devices import Device

INDEX = "library.json"
MAX_INDEX = 1 << 26
"""Bytes of an index: a hundred thousand kernels."""

FORMAT = 1
"""Raised when the meaning of a field changes."""

GROUP = "wave_runtime.libraries"
"""The entry-point group of installed libraries; a value names a package of data, which
is in no other, and is found and not imported."""

_PLACE = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(/[A-Za-z0-9_][\w.-]{0,127}){0,7}"
)

Option = str | int | float | bool


class TensorInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor that a kernel takes, with extents as the manifest has them."""

    dtype: str
    shape: tuple[str, ...]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kernel of a library.

    Attributes:
        function: What people call it.
        options: Which one of the function, by words of the function.
        request: What was compiled, exactly: equal texts are the same kernel.
        target: The architecture.
        form: Of the code.
        tensors: Its tensors, in the order of the call.
        fixed: Sizes that it was compiled for.
        tuned: Sizes that its tiles were chosen for, and which a launch may change.
        place: Its folder in the library.
        manifest_digest: SHA-256 of its manifest, in hexadecimal.
    """

    function: str
    options: dict[str, Option]
    request: str
    target: str
    form: str
    tensors: tuple[TensorInfo, ...]
    fixed: dict[str, int]
    tuned: dict[str, int]
    place: str
    manifest_digest: str


class Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a library has.

    Attributes:
        name: The package whose kernels they are.
        version: Of that package.
        sources: A digest of what they were compiled from; `Library.made_from` compares.
        entries: In the order of their places.
        format: Of this record.
    """

    name: str
    version: str
    sources: str
    entries: tuple[Entry, ...]
    format: int = FORMAT

    def to_json(self) -> bytes:
        """The text form; equal indices give equal bytes."""
        return msgspec.json.format(
            msgspec.json.encode(self, order="deterministic"), indent=1
        )

    @classmethod
    def from_json(cls, data: bytes) -> Index:
        """Read the text form.

        Raises:
            ArtifactError: where it is no index.
        """
        found = decoded(data, cls, "an index of a library")
        if found.format != FORMAT:
            raise ArtifactError(
                f"library format {found.format}; this version reads {FORMAT}"
            )
        for entry in found.entries:
            if not _PLACE.fullmatch(entry.place):
                raise ArtifactError(f"{entry.place!r} is no place in a library")
            if entry.form not in FORMS:
                raise ArtifactError(f"{entry.form!r} is no form of code")
        places = Counter(entry.place for entry in found.entries)
        for place, count in places.items():
            if count > 1:
                raise ArtifactError(f"{count} kernels are at {place!r}")
        return found


@dataclass(frozen=True)
class Library:
    """A folder of kernels that was opened; code is read when it is asked for.

    Attributes:
        folder: Where it is.
        index: What it has.
        digest: SHA-256 of the index.
        signer: Who signed it, of those that are trusted; empty where nobody did.
    """

    folder: Path
    index: Index
    digest: str
    signer: str = ""
    _loaded: dict[tuple[str, str], LoadedKernel] = field(
        default_factory=dict[tuple[str, str], LoadedKernel], repr=False, compare=False
    )

    @classmethod
    def open(cls, folder: Path, trust: Trust | None = None) -> Library:
        """Read the index of a folder.

        Args:
            folder: Has `INDEX` in it.
            trust: Whose signatures count, and whether there has to be one; what the
                environment says by default.

        Raises:
            ArtifactError: where it is no library, is damaged, or is not trusted.
        """
        data = read_plain(folder / INDEX, MAX_INDEX)
        index = Index.from_json(data)
        trust = Trust.of_environment() if trust is None else trust
        signer = trust.signer_of(folder / SIGNATURE, data)
        return cls(folder, index, digest(data), signer)

    def made_from(self, name: str, version: str, sources: str) -> Library:
        """Itself, where it has the kernels of this package, and not of another version.

        Raises:
            ArtifactError: where it is foreign.
        """
        ours, theirs = (name, version), (self.index.name, self.index.version)
        if theirs != ours:
            raise ArtifactError(
                f"{self.folder} has kernels of {' '.join(theirs)}, not of"
                f" {' '.join(ours)}: install those, or build them"
            )
        if self.index.sources != sources:
            raise ArtifactError(
                f"{self.folder} was compiled from other sources of {name} {version}:"
                " build it anew"
            )
        return self

    def artifact(self, entry: Entry) -> Artifact:
        """The code of an entry, and how to launch it.

        Raises:
            ArtifactError: where it is damaged, or is not what the index describes.
        """
        place = self.folder.joinpath(*entry.place.split("/"))
        found = load_artifact(place)
        if digest(found.manifest.to_json()) != entry.manifest_digest:
            raise ArtifactError(f"{place / MANIFEST} is not what the index describes")
        return found

    def kernel(self, entry: Entry, device: Device) -> LoadedKernel:
        """The kernel of an entry on a device, loaded once for each.

        Raises:
            ArtifactError: as `artifact`.
            DeviceError: where the device does not run it.
        """
        key = entry.place, f"{device.name}:{getattr(device, 'ordinal', 0)}"
        found = self._loaded.get(key)
        if found is None or found.device is not device:
            found = self._loaded[key] = LoadedKernel(self.artifact(entry), device)
        return found


def library_folders() -> Mapping[str, Path]:
    """The folders of installed libraries, by the names of their entry points.

    Nothing of them is imported or read. What names no package has none.
    """
    found: dict[str, Path] = {}
    for point in entry_points(group=GROUP):
        for folder in _folders_of(point.value.partition(":")[0]):
            if (folder / INDEX).is_file():
                found[point.name] = folder
    return found


def _folders_of(package: str) -> Sequence[Path]:
    """Where a package is; to find one inside of another would import that."""
    try:
        spec = find_spec(package) if package.isidentifier() else None
    except (ImportError, ValueError):
        return ()
    return [Path(each) for each in (spec and spec.submodule_search_locations) or ()]
