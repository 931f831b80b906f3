"""Passes: frozen dataclasses whose fields are their options."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from wave_core.passes.options import (
    convert_option,
    find_option,
    option_fields,
    option_name,
    option_types,
    to_text_value,
)
from wave_core.passes.text import PassText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.ir.graph import Graph
    from wave_core.passes.context import PassContext

_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True)
class Pass(ABC):
    """One step of compilation, with its options.

    A subclass is a frozen dataclass too. Its name follows from the class:
    ``HoistLoopInvariants`` is ``hoist-loop-invariants``, and its text form,
    ``minimize-global-loads{max-bits=64}``, is what the command line takes, what the
    log prints, and what the cache key holds. Every option has a default, which
    `option` gives together with a summary.

    Its docstring says which invariant it needs, what it changes, and when it does
    nothing.
    """

    @classmethod
    @cache
    def pass_name(cls) -> str:
        """The name of the pass, derived from that of the class."""
        return _CAMEL_HUMP.sub("-", cls.__name__).lower()

    @classmethod
    def with_options(cls, options: Iterable[tuple[str, object]] = ()) -> Self:
        """The pass with options given by name, as text values or typed.

        Raises:
            UserError: WV0803 for an unknown option, WV0804 for an unfit value.
        """
        known, declared = option_types(cls), option_fields(cls)
        owner, given = cls.pass_name(), dict[str, Any]()
        for name, value in options:
            field = find_option(owner, name, known)
            least, most = declared[field].at_least, declared[field].at_most
            given[field] = convert_option(owner, name, value, known[field], least, most)
        return cls(**given)

    def should_run(self, graph: Graph) -> bool:
        """Whether the pass has anything to do; cheap, and without effects.

        Where it has nothing to do, the facts that it provides hold already.
        """
        del graph
        return True

    @abstractmethod
    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Transform ``graph`` in place; the result says whether it changed."""

    def text(self) -> PassText:
        """The pass as text, with the options that differ from their defaults."""
        return PassText(
            self.pass_name(),
            tuple(
                (option_name(field.name), to_text_value(value))
                for field in fields(self)
                if (value := getattr(self, field.name)) != _default(field)
            ),
        )

    def __str__(self) -> str:
        return str(self.text())


def _default(field: Any) -> Any:
    has_value = field.default is not MISSING
    return field.default if has_value else field.default_factory()
