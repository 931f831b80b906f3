"""The installed passes, told apart into those that run and those that do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from wave_core.passes import conflicts
from wave_core.passes.spec import OPTIONAL_MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wave_core.passes.phase import Phase
    from wave_core.passes.spec import InstalledPass


@dataclass(frozen=True)
class PassSet:
    """Installed passes by name, in order of name.

    Attributes:
        known: All of them.
        disabled: Names of those that were asked not to run.
        replaced: Those replaced by another, with the name of the one that runs.
        active: Those that run.
    """

    known: Mapping[str, InstalledPass]
    disabled: frozenset[str]
    replaced: Mapping[str, str]
    active: Mapping[str, InstalledPass]

    @classmethod
    def of(
        cls, installed: Iterable[InstalledPass], disabled: Iterable[str] = ()
    ) -> Self:
        """Sort ``installed`` by name and leave out what does not run.

        Raises:
            PluginError: WV0807 unknown pass, WV0811 contradicting replacements,
                WV0812 pass declared twice.
        """
        known: dict[str, InstalledPass] = {}
        for this in sorted(installed, key=lambda p: (p.name, p.provider)):
            if this.name in known:
                raise conflicts.declared_twice(known[this.name], this)
            known[this.name] = this
        off = frozenset(disabled)
        replaced = _replaced(known, off)
        out = off | replaced.keys()
        active = {name: this for name, this in known.items() if name not in out}
        return cls(known, off, replaced, active)

    def in_phase(self, phase: Phase) -> Iterator[tuple[str, InstalledPass]]:
        """The passes of one phase that run."""
        return (item for item in self.active.items() if item[1].spec.phase is phase)

    def named(self, this: InstalledPass, references: Iterable[str]) -> Iterator[str]:
        """The other passes that run and that ``references`` of ``this`` mean.

        Raises:
            PluginError: WV0807 for a pass that is not installed.
        """
        for reference in references:
            name = installed_name(this, reference, self.known)
            name = self.replaced.get(name, name)
            if name in self.active and name != this.name:
                yield name


def installed_name(
    this: InstalledPass, reference: str, known: Mapping[str, InstalledPass]
) -> str:
    """The name in ``reference``, which is installed or marked as optional.

    Raises:
        PluginError: WV0807 where it is neither.
    """
    name = reference.removesuffix(OPTIONAL_MARK)
    if name not in known and name == reference:
        raise conflicts.unknown_pass(this, name, known)
    return name


def _replaced(
    known: Mapping[str, InstalledPass], off: frozenset[str]
) -> dict[str, str]:
    direct: dict[str, str] = {}
    for name, this in known.items():
        for reference in () if name in off else this.spec.replaces:
            old = installed_name(this, reference, known)
            if old in direct:
                raise conflicts.replaced_twice(known[direct[old]], this, old)
            if old in known:
                direct[old] = name
    return {old: _last_replacer(old, direct, known) for old in direct}


def _last_replacer(
    old: str, direct: Mapping[str, str], known: Mapping[str, InstalledPass]
) -> str:
    chain = [old]
    while chain[-1] in direct:
        chain.append(direct[chain[-1]])
        if chain[-1] in chain[:-1]:
            circle = chain[chain.index(chain[-1]) :]
            raise conflicts.replaced_in_circle(circle, known)
    return chain[-1]
