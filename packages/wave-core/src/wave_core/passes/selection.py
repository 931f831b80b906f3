"""Which passes run, with which options: presets, plugins and users have their say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from wave_core.diagnostics import user_error
from wave_core.passes.options import did_you_mean, option_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.diagnostics import Location, UserError
    from wave_core.passes.spec import InstalledPass
    from wave_core.passes.text import Pipeline


Options = dict[str, Mapping[str, object]]
"""Values of options, by pass and by option."""


@dataclass(frozen=True)
class Amendment:
    """A change to what runs; it cannot change the order.

    Attributes:
        enable: Passes to run.
        disable: Passes not to run.
        options: Values of options, by pass and by option.
        reason: Why, for the log.
    """

    enable: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, object]] = field(default_factory=Options)
    reason: str = ""

    @classmethod
    def of_text(cls, pipeline: Pipeline, reason: str = "") -> Self:
        """Enable each pass of ``pipeline`` and set the options that it gives."""
        options: dict[str, dict[str, object]] = {}
        for text in pipeline.passes:
            options.setdefault(text.name, {}).update(text.options)
        return cls(enable=tuple(options), options=options, reason=reason)

    def __bool__(self) -> bool:
        """Whether anything is changed."""
        return bool(self.enable or self.disable or self.options)

    def origin(self, who: str) -> str:
        """Who makes the change, with the reason."""
        return f"{who} ({self.reason})" if self.reason else who

    def __str__(self) -> str:
        parts = [f"enables {name}" for name in self.enable]
        parts += [f"disables {name}" for name in self.disable]
        parts += [
            f"sets {name}.{option_name(option)} = {value}"
            for name, values in self.options.items()
            for option, value in values.items()
        ]
        because = f" ({self.reason})" if self.reason else ""
        return ", ".join(parts) + because


@dataclass(frozen=True)
class Preset:
    """A named configuration of the pipeline: ``naive``, ``prefetch``, ``pingpong``.

    Attributes:
        name: How users ask for it.
        summary: One line for ``wave pipeline``.
        only: Where not empty, only passes of these plugins run, and essential ones.
        enable: Passes to run.
        disable: Passes not to run; ``"name?"`` means "if installed".
        options: Values of options, by pass and by option.
    """

    name: str
    summary: str = ""
    only: tuple[str, ...] = ()
    enable: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, object]] = field(default_factory=Options)

    def amendment(self, installed: Iterable[InstalledPass]) -> Amendment:
        """Changes by the preset, given what is installed."""
        others = [
            p.name
            for p in installed
            if self.only and p.provider not in self.only and not p.spec.essential
        ]
        disable = tuple(dict.fromkeys((*others, *self.disable)))
        return Amendment(self.enable, disable, self.options, self.summary)


@dataclass(frozen=True)
class Selection:
    """The outcome of all amendments.

    Attributes:
        disabled: Passes that do not run.
        disabled_by: Who says so, for those that would run by default.
        options: Values of options, by pass and by option.
        log: One line for each amendment that changes something.
    """

    disabled: frozenset[str] = frozenset()
    options: Mapping[str, Mapping[str, object]] = field(default_factory=Options)
    log: tuple[str, ...] = ()
    disabled_by: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(
        cls,
        installed: Iterable[InstalledPass],
        amendments: Iterable[tuple[str, Amendment]] = (),
    ) -> Self:
        """Apply amendments in order, each with the name of who makes it.

        Raises:
            UserError: WV0801 for a pass that is not installed.
        """
        specs = {p.name: p.spec for p in installed}
        off = {name for name, spec in specs.items() if not spec.enabled}
        options: dict[str, dict[str, object]] = {}
        log: list[str] = []
        by: dict[str, str] = {}
        for origin, amendment in amendments:
            enabled = _installed(amendment.enable, specs, origin)
            disabled = _installed(amendment.disable, specs, origin)
            off = (off | disabled) - enabled
            asked = dict.fromkeys(disabled, amendment.origin(origin))
            by = {name: who for name, who in (by | asked).items() if name in off}
            for name in sorted(_installed(amendment.options, specs, origin)):
                given = amendment.options[name].items()
                values = {option_name(key): value for key, value in given}
                options.setdefault(name, {}).update(values)
            if amendment:
                log.append(f"{origin} {amendment}")
        return cls(frozenset(off), options, tuple(log), by)


def _installed(
    names: Iterable[str], known: Mapping[str, object], origin: str
) -> set[str]:
    optional = {name[:-1] for name in names if name.endswith("?")}
    wanted = {name for name in names if not name.endswith("?")}
    for name in sorted(wanted - known.keys()):
        raise unknown_name("pass", name, known, f"{origin} names it")
    return wanted | (optional & known.keys())


#: The package that brings more of a kind than core has.
_BROUGHT_BY = {
    "kernel": "wave-kernels",
    "executor": "wave-sim-cpu",
    "target": "wave-backend-amdgpu",
}
_OF_CORE = {"generic", "generic128"}


def unknown_name(
    kind: str,
    name: str,
    known: Iterable[str],
    *notes: str,
    code: str = "WV0801",
    at: Location | None = None,
) -> UserError:
    """Something was asked for by name and nothing of that name is installed."""
    names = sorted(known)
    listed = ", ".join(f"`{each}`" for each in names) or "none"
    ways = [*did_you_mean(name, names), f"installed: {listed}"]
    if set(names) <= _OF_CORE and kind in _BROUGHT_BY:
        ways.append(f"`pip install {_BROUGHT_BY[kind]}` brings more")
    return user_error(
        code,
        f"there is no {kind} `{name}`",
        at=at,
        label="asked for here" if at is not None else "",
        notes=notes,
        help=ways,
    )
