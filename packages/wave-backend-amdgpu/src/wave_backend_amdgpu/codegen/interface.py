"""How the code gets at its arguments: bindings and constants."""

from __future__ import annotations

from typing import Protocol


class Interface(Protocol):
    """The operations that read arguments, as text."""

    def subspan(self, position: int, zero: str) -> tuple[str, str]:
        """The operation that gives binding ``position``, and its memory space."""
        ...

    def constant(self, position: int) -> str | None:
        """The operation that loads a word; ``None`` where it is an argument."""
        ...


def constant_argument(position: int) -> str:
    """The name of a word that is an argument of the function."""
    return f"%k{position}"


class HalInterface:
    """A code object: pointers and words of the kernel's argument segment."""

    def subspan(self, position: int, zero: str) -> tuple[str, str]:
        """Base pointers are not offset beforehand."""
        return (
            (
                f"hal.interface.binding.subspan layout(#layout) binding({position}) "
                f"alignment(16) offset({zero}) :"
            ),
            ", #hal.descriptor_type<storage_buffer>",
        )

    def constant(self, position: int) -> str | None:
        """One word of the push constants."""
        return f"hal.interface.constant.load layout(#layout) ordinal({position}) : i32"


class StreamInterface:
    """A function of a module with a host program: its own arguments."""

    def subspan(self, position: int, zero: str) -> tuple[str, str]:
        """Bindings are arguments ``%b0``, ``%b1``, ..."""
        return f"stream.binding.subspan %b{position}[{zero}] : !stream.binding ->", ""

    def constant(self, position: int) -> str | None:
        """Words are arguments ``%k0``, ``%k1``, ..."""
        del position
        return None
