"""Files that a compilation reads: their contents count as much as the options do."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.passes.text import PassText


def input_files(
    options: WaveCompileOptions, session: Session
) -> tuple[tuple[str, str], ...]:
    """The files that options of plugins name, with digests of what they hold.

    An option for which several files are read names the first, ``NAME.txt``; the
    others, ``NAME.1.txt`` and so on, count with it.
    """
    named = sorted(set(_named(options, session)))
    files = dict.fromkeys(path for name in named for path in _family(Path(name)))
    return tuple((str(path), _digest(path)) for path in files)


def _named(options: WaveCompileOptions, session: Session) -> Iterator[str]:
    """The values of options that name files, however they are given."""
    for name, each in session.plugins.option_specs.items():
        if not each.value.reads_file:
            continue
        given = options.plugin_options.get(name, getattr(options, name, None))
        if isinstance(given, str):
            yield given
        owner, _, key = each.value.applies_to.partition(".")
        texts: Sequence[PassText] = options.passes  # pyright: ignore[reportAssignmentType] - pass texts by now
        for text in texts:
            for option, value in text.options if text.name == owner else ():
                if option.replace("-", "_") == key and isinstance(value, str):
                    yield value


def _family(first: Path) -> Iterator[Path]:
    """The file, and those beside it whose names go on after a dot."""
    yield first
    try:
        beside = sorted(first.parent.iterdir())
    except OSError:
        return
    for path in beside:
        if path != first and path.name.startswith(f"{first.stem}."):
            yield path


def _digest(path: Path) -> str:
    """The digest of a file; empty where it cannot be read, which its reader tells."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
