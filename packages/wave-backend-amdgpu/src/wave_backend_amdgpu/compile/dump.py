"""Files of the stages of a compilation, for people to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wave_core.compile.files import write_all
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.options import WaveCompileOptions
    from wave_core.diagnostics import Location


def dump(
    options: WaveCompileOptions,
    stem: str,
    texts: Mapping[str, str],
    binaries: Mapping[str, bytes],
) -> None:
    """Write what the options ask for, as ``stem`` with the given endings.

    Raises:
        UserError: WV0823 for a folder that cannot be written.
    """
    if options.dump_intermediates is not None:
        encoded = {end: text.encode() for end, text in texts.items() if text}
        _write("dump_intermediates", options.dump_intermediates, stem, encoded, options)
    if options.dump_binaries is not None:
        _write("dump_binaries", options.dump_binaries, stem, binaries, options)


def _write(
    name: str,
    folder: str,
    stem: str,
    files: Mapping[str, bytes],
    options: WaveCompileOptions,
) -> None:
    try:
        write_all(Path(folder), {f"{stem}{end}": files[end] for end in files})
    except OSError as error:
        raise _unfit(name, folder, error, options.location) from None


def _unfit(name: str, folder: str, error: OSError, at: Location | None) -> Exception:
    return user_error(
        "WV0823",
        f"option `{name}` is {folder!r}, which cannot be written: {error.strerror}",
        at=at,
        label="given here",
        help="give a folder; it is made where it is not there",
    )
