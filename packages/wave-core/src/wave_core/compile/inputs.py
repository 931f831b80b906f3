"""Files that a compilation reads, and whether it reports something."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from wave_core.compile.fingerprint import Key
from wave_core.compile.option_rows import Role, given
from wave_core.compile.read_log import KEPT
from wave_core.passes.load import load_object
from wave_core.passes.options import option_fields
from wave_core.passes.text import Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.passes.options import OptionField
    from wave_core.passes.text import PassText


@dataclass(frozen=True)
class Asked:
    """Facts about options that follow from what they are, and never change.

    Attributes:
        options: The options; held, so that no others take their identity.
        reports: Whether the compilation itself is wanted, for what it tells on the way.
        files: The files that options of passes name.
    """

    options: WaveCompileOptions
    reports: bool
    files: tuple[str, ...]

    @cached_property
    def key(self) -> Key:
        """The options, hashed once.

        Raises:
            TypeError: For an option of a plugin whose value has no hash.
        """
        return Key(self.options)


def asked_of(options: WaveCompileOptions, session: Session) -> Asked:
    """The facts about these options, worked out once a session."""
    found = session.asked.get(id(options))
    if found is None:
        passes = tuple(_of_passes(options, session))
        own = any(row.role is Role.REPORT for row, _ in given(options))
        named = {value for each, value in passes if each.reads_file}
        found = Asked(
            options,
            own or any(each.reports for each, _ in passes),
            tuple(sorted(value for value in named if isinstance(value, str))),
        )
        if len(session.asked) >= KEPT:
            session.asked.clear()
        session.asked[id(options)] = found
    return found


def input_files(asked: Asked) -> tuple[tuple[str, str], ...]:
    """The files that options of passes name, with digests of what they hold now.

    An option for which several files are read names the first, ``NAME.txt``; the
    others, ``NAME.1.txt`` and so on, count with it.
    """
    if not asked.files:
        return ()
    files = dict.fromkeys(path for name in asked.files for path in _family(Path(name)))
    return tuple((str(path), _digest(path)) for path in files)


def _of_passes(
    options: WaveCompileOptions, session: Session
) -> Iterator[tuple[OptionField, object]]:
    """The options of passes that are given, in whatever way, and their values."""
    for row, value in given(options):
        owner, _, name = row.setting.partition(".")
        if name:
            yield from _declared(session, owner, name, value)
    texts = cast("tuple[PassText, ...]", options.passes)
    for text in (*texts, *Pipeline.parse(options.pipeline or "").passes):
        for name, value in text.options:
            yield from _declared(session, text.name, name, value)


def _declared(
    session: Session, owner: str, name: str, value: object
) -> Iterator[tuple[OptionField, object]]:
    """The pass's declaration of its option, if there is one."""
    found = session.plugins.pass_specs.get(owner)
    if found is None:
        return
    what = f"pass `{owner}`"
    declared = option_fields(load_object(found.value.target, what, found.provider.name))
    field = name.replace("-", "_")
    if field in declared:
        yield declared[field], value


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
