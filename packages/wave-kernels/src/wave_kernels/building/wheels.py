"""Wheels of data: equal contents give equal bytes.

Source of the form: the specification of binary distributions, packaging.python.org.
"""

from __future__ import annotations

import base64
import csv
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from wave_runtime.artifact import write_whole

BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The first time that a zip file can say; every file has it."""

_PLAIN = 0o644 << 16
_UNIX = 3


@dataclass(frozen=True)
class Wheel:
    """A distribution without code.

    Attributes:
        name: Of the distribution.
        version: Of the distribution.
        summary: One line.
        requires: What it needs.
        points: Entry points: a name and a value for each, by group.
        files: Contents, by path.
    """

    name: str
    version: str
    summary: str
    requires: tuple[str, ...]
    points: Mapping[str, Mapping[str, str]]
    files: Mapping[str, bytes]

    @property
    def file_name(self) -> str:
        """As installers expect it: for every Python and every platform."""
        return f"{self._escaped}-{self.version}-py3-none-any.whl"

    @property
    def _escaped(self) -> str:
        return self.name.replace("-", "_")

    def write(self, folder: Path) -> Path:
        """Write the file; gives its path.

        Raises:
            OSError: where it cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        return write_whole(folder / self.file_name, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The file: entries by their names, the record last, at one time."""
        about = f"{self._escaped}-{self.version}.dist-info"
        files = {
            **self.files,
            f"{about}/METADATA": self._metadata().encode(),
            f"{about}/WHEEL": self._wheel().encode(),
            f"{about}/entry_points.txt": self._entry_points().encode(),
        }
        ordered = {name: files[name] for name in sorted(files)}
        record = f"{about}/RECORD"
        ordered[record] = _record(ordered, record)
        return _zipped(ordered)

    def _metadata(self) -> str:
        fields = [
            ("Metadata-Version", "2.1"),
            ("Name", self.name),
            ("Version", self.version),
            ("Summary", self.summary),
            ("License", "Apache-2.0"),
            *(("Requires-Dist", each) for each in self.requires),
        ]
        return "".join(f"{name}: {value}\n" for name, value in fields)

    def _wheel(self) -> str:
        return (
            "Wheel-Version: 1.0\nGenerator: wave-kernels\n"
            "Root-Is-Purelib: true\nTag: py3-none-any\n"
        )

    def _entry_points(self) -> str:
        lines: list[str] = []
        for group, points in sorted(self.points.items()):
            lines.append(f"[{group}]")
            lines += [f"{name} = {value}" for name, value in sorted(points.items())]
        return "".join(f"{line}\n" for line in lines)


def _record(files: Mapping[str, bytes], own: str) -> bytes:
    """A row of path, digest and size for each file; its own has neither."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for name, data in files.items():
        hashed = base64.urlsafe_b64encode(sha256(data).digest()).rstrip(b"=")
        writer.writerow((name, f"sha256={hashed.decode()}", len(data)))
    writer.writerow((own, "", ""))
    return text.getvalue().encode()


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """Stored as they are: what compressors make differs with their versions."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, BEGINNING)
            info.external_attr, info.create_system = _PLAIN, _UNIX
            archive.writestr(info, data)
    return found.getvalue()
