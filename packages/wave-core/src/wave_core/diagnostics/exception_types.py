"""The exception classes; their messages are rendered diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.diagnostics.diagnostic import Diagnostic


class WaveError(Exception):
    """Something went wrong; `diagnostics` says what, where, and what to do."""

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        """Hold one diagnostic or several, in the order to print."""
        one = getattr(diagnostics, "code", None) is not None
        self.diagnostics = (diagnostics,) if one else tuple(diagnostics)  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue] # told apart by `code`, the class would be an import cycle
        super().__init__(self.diagnostics)

    @property
    def code(self) -> str:
        """Code of the first diagnostic."""
        return self.diagnostics[0].code if self.diagnostics else ""

    def __str__(self) -> str:
        return "\n\n".join(diagnostic.render() for diagnostic in self.diagnostics)


class UserError(WaveError):
    """The kernel author acts: the kernel, its constraints or options are wrong."""


class LaunchError(UserError):
    """The arguments of a launch do not fit the kernel or the device."""


class SimulationError(UserError):
    """The simulator saw a race, a stray access, poison, or a failed check."""


class PluginError(WaveError):
    """The plugin author acts: a plugin is broken, incompatible or contradicts one."""


class InternalError(WaveError):
    """We act: the compiler broke one of its own rules."""

    pass_name: str | None
    plugin: str | None = None
    """The plugin whose code failed, where that is not core."""

    def __init__(
        self,
        diagnostics: Diagnostic | Iterable[Diagnostic],
        pass_name: str | None = None,
    ) -> None:
        """Hold the diagnostics and the pass that ran."""
        super().__init__(diagnostics)
        self.pass_name = pass_name

    def __str__(self) -> str:
        """All diagnostics, then what to send in a report."""
        lines = [super().__str__()]
        if self.pass_name:
            lines.append(f"  = pass: {self.pass_name}")
        author = f"plugin `{self.plugin}`" if self.plugin else "Wave"
        lines.append(f"  = note: this is a defect of {author}, not of your kernel")
        return "\n".join(lines)
