"""The text form of pipelines: ``canonicalize, minimize-global-loads{max-bits=64}``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from wave_core.diagnostics import user_error
from wave_core.passes.literal import Reader, print_value

if TYPE_CHECKING:
    from wave_core.passes.literal import OptionValue


@dataclass(frozen=True)
class PassText:
    """A pass and its options, as written; nothing is known about either yet."""

    name: str
    options: tuple[tuple[str, OptionValue], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read one pass.

        Raises:
            UserError: WV0802 where the text does not fit.
        """
        reader = Reader(text)
        found = cls.read(reader)
        reader.take("end", "the end")
        return found

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read one pass from the middle of a text."""
        name = reader.take("word", "the name of a pass")
        options: dict[str, OptionValue] = {}

        def option() -> None:
            key = reader.take("word", "the name of an option")
            if key in options:
                raise user_error("WV0802", f"`{name}` has option `{key}` twice")
            if not reader.accept("="):
                raise reader.error("`=`")
            options[key] = reader.value()

        if reader.accept("{"):
            reader.listed("}", option)
        return cls(name, tuple(options.items()))

    def __str__(self) -> str:
        pairs = [f"{name}={print_value(value)}" for name, value in self.options]
        return f"{self.name}{{{', '.join(pairs)}}}" if pairs else self.name


@dataclass(frozen=True)
class Pipeline:
    """Passes with their options, in some order."""

    passes: tuple[PassText, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read passes separated by commas.

        Raises:
            UserError: WV0802 where the text does not fit.
        """
        reader = Reader(text)
        passes: list[PassText] = []
        while reader.token.kind != "end":
            passes.append(PassText.read(reader))
            if not reader.accept(",") and reader.token.kind != "end":
                raise reader.error("`,` or the end")
        return cls(tuple(passes))

    def __str__(self) -> str:
        return ", ".join(map(str, self.passes))
