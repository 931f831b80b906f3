"""The state of one code generation: that of core, and what is the machine's."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from wave_backend_asm.allocate.files import Place
from wave_backend_asm.assemble.start import Start
from wave_backend_asm.codegen.memories import names_in_lds, starts_in_lds
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_backend_asm.select.builder import Builder
from wave_backend_asm.select.instructions import AsmInstructions
from wave_backend_asm.select.missing import MissingError
from wave_core.backends.emission import Emission, Kind
from wave_core.backends.emission.copies import copies_are_left, copies_are_marked
from wave_core.constraints import fast_math_of
from wave_core.diagnostics import PluginError, user_error
from wave_core.ir import resolve
from wave_core.ops.control import SetSymbol, While
from wave_core.ops.memory import GatherToLDS
from wave_core.ops.traits import Trait

if TYPE_CHECKING:
    from collections.abc import Generator

    from wave_backend_asm.code import Part, Value
    from wave_backend_asm.codegen.memories import Memory
    from wave_core.backends import LoweringTable
    from wave_core.ir import Graph
    from wave_core.ops.base import Op
    from wave_core.symbols import Facts
    from wave_core.targets import Target
    from wave_core.types import DType

BACKEND = "asm"

MLIR_PATH = "leave out `backend='asm'`: the MLIR path compiles it"

_PREFIX = "."
"""Ends the prefix that names of ops of plugins have, and those of core have not."""

_PLUGIN_HELP = (
    f"{MLIR_PATH}, if it has a rule",
    "or register a rule for `asm`: `wave_backend_asm.lowering` has what it needs",
)


class Emitter(Emission):
    """The state that lowering rules work with.

    Attributes:
        b: where code goes, and what names stand for.
        memories: by the key of the defining op.
        starts: bytes of LDS in front of each buffer, by key.
        buffers: names of buffers of LDS, by key.
        copies: the copies to LDS.
        marks_copies: whether barriers alone say when they have landed.
        leaves_copies: whether some barrier leaves groups of them under way.
        fixed: registers that a wave starts with.
        pointers: arguments in front of the words.
        start: what a wave starts with.
        writes_out: whether short loops become their turns, one after the other.
        wrote_out: whether one has.
        loads_scalars: whether one word for all lanes is loaded to the wave's.
        loaded_scalars: whether one has been.
        keeps_descriptors: whether those of parameters lie in registers all the time,
            and are not made where they are used.
        bounded: descriptors that keep lanes away from what is beyond a buffer: masked
            ones, and those whose place is not known to be inside.
    """

    def __init__(
        self,
        graph: Graph,
        target: Target,
        facts: Facts,
        table: LoweringTable,
        *,
        pointers: int,
        words: int,
        fast_math: bool | None = None,
    ) -> None:
        self.b = Builder(target.name)
        fast = fast_math_of(fast_math, graph.constraints)
        instructions = AsmInstructions(self.b)
        super().__init__(graph, target, facts, table, instructions, fast_math=fast)
        self.indices.whole_remainders = True
        self.make = instructions
        self.pointers = pointers
        self.writes_out, self.wrote_out = True, False
        self.loads_scalars, self.loaded_scalars = True, False
        self.keeps_descriptors = True
        self.memories: dict[int, Memory] = {}
        self.bounded: set[Value] = set()
        self.starts = starts_in_lds(graph)
        self.buffers = names_in_lds(graph, self.starts)
        self.copies = [op for op in graph.walk() if isinstance(op, GatherToLDS)]
        self.marks_copies = copies_are_marked(graph)
        self.leaves_copies = copies_are_left(graph)
        self.start = start = Start(2 * pointers + words)
        self._item = Virtual(name="the work-item")
        self._arguments = Virtual(2, SCALARS, "the arguments")
        wide = min(pointers, start.preloaded // 2)
        widths = [2] * wide + [1] * (start.preloaded - 2 * wide)
        arguments = [Virtual(width, SCALARS, "an argument") for width in widths]
        self._preloaded = [part for each in arguments for part in each.parts()]
        self._groups = _scalars("the workgroup", 3)
        self.fixed: dict[Value, Place] = {
            self._item: Place("v", 0),
            self._arguments: Place("s", 0),
            **_places(arguments, start.first_argument),
            **_places(self._groups, start.first_group),
        }

    def memory(self, op: Op) -> Memory:
        """The memory that an operand is, for the accesses of one op."""
        found = self.memories[resolve(op).ident]
        return (
            found if found.again is None else replace(found, descriptor=found.again())
        )

    # ---- what a wave starts with

    def argument(self, offset: int, words: int, result: Part) -> None:
        """Load words of the kernel's arguments, from a byte on."""
        name = "s_load_dword" if words == 1 else f"s_load_dwordx{words}"
        self.b.say(name, (result,), (self._arguments.all, offset))

    @property
    def unbounded(self) -> set[Value]:
        """Descriptors of buffers of which no lane asks for what is beyond.

        None is where a symbol is what the kernel finds, which places may hang on.
        """
        if any(isinstance(op, SetSymbol | While) for op in self.graph.walk()):
            return set()
        found = {each.descriptor for each in self.memories.values()}
        return {each.value for each in found if each is not None} - self.bounded

    def preloaded(self, first: int, count: int) -> tuple[Part, ...]:
        """Words of the arguments that a wave starts with; none where one is not."""
        found = self._preloaded[first : first + count]
        return tuple(found) if len(found) == count else ()

    def word(self, position: int) -> str:
        """A word behind the pointers."""
        words = self.preloaded(2 * self.pointers + position, 1)
        if not words:
            words = (Virtual(1, SCALARS).all,)
            self.argument(8 * self.pointers + 4 * position, 1, words[0])
        return self.b.of(Kind("i32"), words)

    def thread(self, threads: int) -> str:
        """The number of the work-item: there is one axis."""
        del threads
        return self.b.of(Kind("i32"), (self._item.all,))

    def workgroup(self, axis: int) -> str:
        """A coordinate of the workgroup."""
        return self.b.of(Kind("i32"), (self._groups[axis].all,))

    @property
    def keeps_denormals(self) -> bool:
        """As the kernel's descriptor says."""
        return True

    def converts(self, dtype: DType) -> bool:
        """Floats of a byte are taken from bits: chips differ in what is too large."""
        del dtype
        return False

    def uniform(self, name: str, kind: Kind) -> str:
        """The value in scalar registers."""
        words = [self.b.uniform(word) for word in self.b.words(name)]
        return self.b.of(kind, words)

    # ---- lowering

    def lower_op(self, op: Op) -> None:
        """Lower one op, or say that the MLIR path can.

        Raises:
            UserError: WV0610 where no rule fits, or a rule has no instruction.
        """
        if op.has(Trait.TERMINATOR):
            return
        self.instructions.locate(op.location)
        rule = self._table.find(op)
        if rule is None:
            raise self.missing(op, self._table.unsupported.get(op.op_name, ""))
        try:
            rule(op, self)
        except MissingError as error:
            raise self.missing(op, str(error)) from None
        except PluginError as error:
            if not isinstance(error.__cause__, MissingError):
                raise
            raise self.missing(op, str(error.__cause__)) from None

    def missing(self, op: Op, why: str) -> Exception:
        """The refusal of an op for which there is no selection."""
        target = self.target.name
        return user_error(
            "WV0610",
            f"backend `{BACKEND}` selects no instructions of {target} for "
            f"`{op.op_name}`",
            at=op.location,
            notes=why or (),
            help=_PLUGIN_HELP if _PREFIX in op.op_name else MLIR_PATH,
        )

    @contextmanager
    def where(self, mask: Part) -> Generator[None]:
        """Code that lanes run for which a mask holds; no jump."""
        b = self.b
        with b.region() as block:
            yield
        saved = Virtual(2, SCALARS).all
        b.say("s_and_saveexec_b64", (saved,), (mask,))
        b.blocks[b.here].lines += block.lines
        b.say("s_mov_b64", ("exec",), (saved,))


def _scalars(name: str, count: int) -> list[Virtual]:
    return [Virtual(1, SCALARS, name) for _ in range(count)]


def _places(values: list[Virtual], first: int) -> dict[Value, Place]:
    """Scalar registers one after the other."""
    starts = accumulate([each.width for each in values], initial=first)
    return {each: Place("s", at) for each, at in zip(values, starts, strict=False)}
