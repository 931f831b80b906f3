"""Options of compilation that plugins declare: who owns each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.passes.options import convert_option, unknown_option
from wave_core.plugin.api import DISABLE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.diagnostics import UserError
    from wave_core.plugin.results import OptionSpec

OWNER = "WaveCompileOptions"
"""The owner of the options, in messages."""


@dataclass(frozen=True)
class OptionTable:
    """The options that exist, and the packages that give them a meaning here.

    Attributes:
        specs: The options by name.
        packages: Distributions with a loaded plugin.
        disabled: Distributions whose plugins are disabled.
    """

    specs: Mapping[str, OptionSpec]
    packages: frozenset[str]
    disabled: frozenset[str] = frozenset()

    def check(self, values: Mapping[str, object]) -> dict[str, object]:
        """The values that differ from their defaults, typed.

        Raises:
            UserError: WV0803 unknown option, WV0804 unfit value, WV0824 an option
                whose package is not installed.
        """
        typed: dict[str, object] = {}
        for name, value in values.items():
            spec = self.specs.get(name)
            if spec is None:
                raise unknown_option(OWNER, name, sorted(self.specs))
            least = spec.at_least
            converted = convert_option(OWNER, name, value, spec.type, least)
            if converted == spec.default:
                continue
            if spec.package not in self.packages:
                raise self._not_installed(spec)
            typed[name] = converted
        return typed

    def _not_installed(self, spec: OptionSpec) -> UserError:
        if spec.package in self.disabled:
            state = f"whose plugin is disabled by {DISABLE_VARIABLE}"
            way_out = f"take it out of {DISABLE_VARIABLE}"
        else:
            state, way_out = "which is not installed", f"pip install {spec.package}"
        return user_error(
            "WV0824",
            f"option `{spec.name}` belongs to package {spec.package}, {state}",
            notes=f"{spec.name}: {spec.help}",
            help=(way_out, "or leave the option at its default"),
            package=spec.package,
        )
