"""Collects what is wrong with the arguments of one launch, to raise it once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import LaunchError, make_diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.compile.launch.signature import Parameter, Signature
    from wave_core.diagnostics import Diagnostic, Location


class LaunchReport:
    """The mistakes of one launch, in the order of the parameters."""

    def __init__(self, signature: Signature, call: Location | None = None) -> None:
        """Start without mistakes; ``call`` is the line of the launch."""
        self.signature = signature
        self._call = call
        self._found: list[Diagnostic] = []
        self._bad: set[str] = set()

    def is_bad(self, parameter: Parameter) -> bool:
        """Whether something is wrong with the argument already."""
        return parameter.name in self._bad

    def argument(
        self,
        code: str,
        parameter: Parameter,
        what: str,
        help: str,  # noqa: A002 - the word that is printed
        notes: Iterable[str] | str = (),
        other: Parameter | None = None,
    ) -> None:
        """Something is wrong with one argument: ``what`` ends "argument `a` is"."""
        self._bad.add(parameter.name)
        secondary = [(self._call, "launched here")]
        if other is not None:
            secondary.insert(0, (other.location, f"`{other}` is declared here"))
        self._found.append(
            make_diagnostic(
                code,
                f"argument `{parameter.name}` of `{self.signature.kernel}` is {what}",
                parameter.location,
                f"declared as `{parameter}`",
                secondary,
                notes,
                help,
                parameter=parameter.name,
                position=parameter.position,
            )
        )

    def kernel(
        self,
        code: str,
        message: str,
        at: Location | None,
        label: str,
        help: str,  # noqa: A002 - the word that is printed
        notes: Iterable[str] | str = (),
    ) -> None:
        """Something is wrong with the launch as a whole."""
        secondary = [(self._call, "launched here")]
        self._found.append(
            make_diagnostic(code, message, at, label, secondary, notes, help)
        )

    def raise_if_errors(self) -> None:
        """Raise everything that was found.

        Raises:
            LaunchError: WV07xx.
        """
        if self._found:
            raise LaunchError(self._found)
