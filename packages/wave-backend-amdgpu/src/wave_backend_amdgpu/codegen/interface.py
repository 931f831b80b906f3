"""How the code gets at its arguments: bindings and constants."""

from __future__ import annotations


def constant_argument(position: int) -> str:
    """The name of a word that is an argument of the function."""
    return f"%k{position}"


class Interface:
    """A code object: pointers and words of the kernel's argument segment."""

    def subspan(self, position: int, zero: str) -> tuple[str, str]:
        """The operation that gives binding ``position``, and its memory space.

        Base pointers are not offset beforehand.
        """
        text = (
            f"hal.interface.binding.subspan layout(#layout) binding({position}) "
            f"alignment(16) offset({zero}) :"
        )
        return text, ", #hal.descriptor_type<storage_buffer>"

    def constant(self, position: int) -> str | None:
        """The operation that loads a word; ``None`` where it is an argument."""
        return f"hal.interface.constant.load layout(#layout) ordinal({position}) : i32"


class StreamInterface(Interface):
    """A function of a module with a host program: arguments ``%b0``, ..., ``%k0``."""

    def subspan(self, position: int, zero: str) -> tuple[str, str]:
        """The binding is an argument."""
        return f"stream.binding.subspan %b{position}[{zero}] : !stream.binding ->", ""

    def constant(self, position: int) -> None:
        """The word is an argument."""
        del position
