"""Imports what plugins declare as ``module:name``, when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from wave_core.diagnostics import WaveError, plugin_error
from wave_core.passes.base import Pass
from wave_core.passes.spec import CORE, DISABLE_VARIABLE as DISABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.passes.spec import InstalledPass


def load_object(target: str, what: str, provider: str) -> object:
    """The object that ``"module:name"`` means, or the module that ``"module"`` does.

    Args:
        target: Where it is.
        what: What it is, for the message: ``"pass `reorder-loops`"``.
        provider: The plugin that declared it.

    Raises:
        PluginError: WV0814 where the import fails or the name is missing.
    """
    module, _, name = target.partition(":")
    try:
        found = import_module(module)
        return getattr(found, name) if name else found
    except WaveError:
        raise
    except Exception as error:  # a module may fail in any way while it is imported
        raise plugin_error(
            "WV0814",
            f"{what} of plugin {provider} cannot be loaded from `{target}`",
            notes=f"{type(error).__name__}: {error}",
            help=() if provider == CORE else f"run without it: {DISABLE}={provider}",
        ) from error


def load_pass(
    entry: InstalledPass, options: Mapping[str, object] | None = None
) -> Pass:
    """The pass that a declaration means, with options given by name.

    Raises:
        PluginError: WV0814 where the class cannot be loaded or is no such pass.
        UserError: WV0803 for an unknown option, WV0804 for an unfit value.
    """
    spec, provider = entry.spec, entry.provider
    cls = load_object(spec.target, f"pass `{spec.name}`", provider)
    if not (isinstance(cls, type) and issubclass(cls, Pass)):
        raise _not_the_pass(entry, "is not a subclass of Pass")
    if cls.pass_name() != spec.name:
        raise _not_the_pass(entry, f"is named for a pass `{cls.pass_name()}`")
    return cls.with_options((options or {}).items())


def _not_the_pass(entry: InstalledPass, what: str) -> Exception:
    return plugin_error(
        "WV0814",
        f"pass `{entry.name}` of plugin {entry.provider}: `{entry.spec.target}` {what}",
        help="the class is a frozen dataclass named as the pass, in camel case",
    )
