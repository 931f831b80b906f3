"""Builds LLVM IR text, region by region.

A region is a run of basic blocks whose text is kept apart until it is closed. So what
is put further out stands before the branch into the region, as it does where regions
nest in the text, and loops and conditions become labels and phis when they are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_backend_nvgpu.codegen.debug import Lines
    from wave_core.diagnostics import Location


class Block:
    """An open region: its lines so far, what they have computed, where they end.

    Attributes:
        entry: The label that it begins with.
        label: The label of the basic block that is being written.
    """

    def __init__(self, entry: str) -> None:
        self.lines: list[str] = []
        self.memo: dict[Hashable, str] = {}
        self.entry = entry
        self.label = entry


class Builder:
    """Appends instructions to the innermost open region, or to one further out.

    Further out is just before the branch into the inner regions, so what is put there
    precedes all its uses, and no more.

    Attributes:
        lines: The user's lines, as debug information.
        declared: Declarations and definitions that the text needs, by name.
        elements: By name of a vector, those that it was made from.
    """

    def __init__(self, lines: Lines) -> None:
        self.blocks = [Block("entry")]
        self.lines = lines
        self.declared: dict[str, str] = {}
        self.elements: dict[str, list[str]] = {}
        self.where = ""
        self._last = 0
        self._constants: dict[str, str] = {}

    @property
    def level(self) -> int:
        """The depth of the innermost open region, from 0."""
        return len(self.blocks) - 1

    def fresh(self) -> str:
        """A name that no value has."""
        self._last += 1
        return f"%v{self._last}"

    def label(self) -> str:
        """A label that no basic block has."""
        self._last += 1
        return f"block{self._last}"

    def line(self, text: str, level: int | None = None) -> None:
        """Append an instruction without a result."""
        lines = self.blocks[self.level if level is None else level].lines
        lines.append(f"  {text}{self.where}")

    def op(self, text: str, level: int | None = None) -> str:
        """Append an instruction with a result; gives its name."""
        name = self.fresh()
        self.line(f"{name} = {text}", level)
        return name

    def once(self, key: Hashable, make: Callable[[], str], level: int) -> str:
        """The name under ``key`` in an open region; made where nobody asked before."""
        memo = self.blocks[level].memo
        if key not in memo:
            memo[key] = make()
        return memo[key]

    def holds(self, key: Hashable, level: int) -> bool:
        """Whether an open region has a name under ``key``."""
        return key in self.blocks[level].memo

    def named(self, text: str, type_: str) -> str:
        """The name of a constant; equal ones share it."""
        definition = f"bitcast {type_} {text} to {type_}"
        if definition not in self._constants:
            self._constants[definition] = f"%c{len(self._constants)}"
        return self._constants[definition]

    def declare(self, name: str, text: str) -> None:
        """Have a function or variable stand before the kernel, once."""
        self.declared.setdefault(name, text)

    def structure(self, kinds: Sequence[str]) -> str:
        """The type of these together, by a name: it stands at each part taken of it."""
        runs = [(kind, len(list(run))) for kind, run in groupby(kinds)]
        name = f"%{'.'.join(f'{kind}.{count}' for kind, count in runs)}"
        self.declare(name, f"{name} = type {{{', '.join(kinds)}}}")
        return name

    def call(
        self,
        function: str,
        result: str,
        arguments: Sequence[tuple[str, str]],
        level: int | None = None,
        *,
        flags: str = "",
        together: bool = False,
    ) -> str:
        """Call an intrinsic.

        Args:
            function: Its name without ``@``.
            result: The type of its result, or ``void``.
            arguments: Type and name of each.
            level: The region to call it in.
            flags: What a call of a function on floats may assume.
            together: Whether the lanes of a wave have to be there together, which LLVM
                knows of most such functions, and not of all.

        Returns:
            The name of the result; nothing for ``void``.
        """
        kinds = ", ".join(kind for kind, _ in arguments)
        self.declare(function, f"declare {result} @{function}({kinds})")
        given = ", ".join(f"{kind} {name}" for kind, name in arguments)
        flags = f"{flags} " if flags else ""
        text = f"call {flags}{result} @{function}({given})"
        text += " convergent" if together else ""
        if result == "void":
            self.line(text, level)
            return ""
        return self.op(text, level)

    def assembly(
        self, text: str, rules: Sequence[str], given: Sequence[str], result: str = ""
    ) -> str:
        """Call inline assembly that changes memory.

        It is convergent: LLVM neither puts it into branches nor copies it into arms.
        What lanes of a warp, or warps of a group, execute together would else be
        executed by some of them in one place and by others in another.

        Args:
            text: The assembly.
            rules: Constraints of its results and operands, in order.
            given: Type and name of each operand.
            result: The type of its result, if it has any.

        Returns:
            The name of the result; nothing where it has none.
        """
        rule = ",".join([*rules, "~{memory}"])
        called = f'asm sideeffect "{text}", "{rule}"({", ".join(given)}) convergent'
        if not result:
            self.line(f"call void {called}")
            return ""
        return self.op(f"call {result} {called}")

    # ---- regions

    @contextmanager
    def region(self) -> Generator[Block]:
        """Open a region; the caller closes it with `branch` or `splice`."""
        block = Block(self.label())
        self.blocks.append(block)
        try:
            yield block
        finally:
            self.blocks.pop()

    def splice(self, *parts: Block | str) -> None:
        """Append closed regions, and instructions and labels between them.

        A text that ends with a colon is a label; what follows belongs to it.
        """
        here = self.blocks[-1]
        for part in parts:
            if isinstance(part, Block):
                here.lines += [f"{part.entry}:", *part.lines]
                here.label = part.label
            elif part.endswith(":"):
                here.lines.append(part)
                here.label = part[:-1]
            else:
                here.lines.append(f"  {part}{self.where}")

    def branch(
        self, test: str, block: Block, results: Sequence[tuple[str, str, str]] = ()
    ) -> list[str]:
        """Append a region that is passed where ``test`` does not hold.

        Args:
            test: An ``i1``.
            block: The region, which is closed.
            results: Type, name inside and name where it is passed of each result.

        Returns:
            The names of the results.
        """
        before, join = self.blocks[-1].label, self.label()
        self.splice(f"br i1 {test}, label %{block.entry}, label %{join}", block)
        inside = self.blocks[-1].label
        self.splice(f"br label %{join}", f"{join}:")
        return [
            self.op(f"phi {kind} [ {name}, %{inside} ], [ {other}, %{before} ]")
            for kind, name, other in results
        ]

    # ---- locations and the whole

    def locate(self, location: Location | None) -> None:
        """Take ``location`` for what follows."""
        self.where = self.lines.suffix(location)

    def body_lines(self) -> list[str]:
        """The constants, then everything at the outermost level."""
        rows = self._constants.items()
        named = [f"  {name} = {text}" for text, name in rows]
        return ["entry:", *named, *self.blocks[0].lines]
