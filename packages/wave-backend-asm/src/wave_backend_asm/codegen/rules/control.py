"""Loops, conditions, and symbols that change their value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.code import Part
from wave_backend_asm.machine.instruction import Instruction, Label
from wave_backend_asm.machine.operands import SCALARS, VECTORS, Operand, Virtual
from wave_backend_asm.select.builder import consecutive
from wave_backend_asm.select.data import Datum
from wave_core.backends import lowers
from wave_core.backends.emission import Kind, Value
from wave_core.backends.emission.rules.control import name_first
from wave_core.ir import walk
from wave_core.ops.control import Conditional, Iterate, SetSymbol, While
from wave_core.symbols import as_expr, symbol

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from wave_backend_asm.codegen.emitter import Emitter
    from wave_backend_asm.machine.program import Line
    from wave_backend_asm.select.builder import Builder
    from wave_core.symbols import Expr


class _Carried:
    """The registers of a value that is defined in several places."""

    def __init__(self, like: Datum) -> None:
        self.kind = like.kind
        truth = like.kind.item == "i1"
        count = len(like.words)
        self.values = [Virtual(2, SCALARS) for _ in range(count)] if truth else (
            [Virtual(count)])  # fmt: skip

    @property
    def words(self) -> tuple[Part, ...]:
        """What the name of the value stands for."""
        if self.kind.item == "i1":
            return tuple([value.all for value in self.values])
        return self.values[0].parts()

    def take(self, b: Builder, words: tuple[Operand, ...], *, keep: bool) -> None:
        """Hold other words from here on; with ``keep``, in lanes that are on alone."""
        if self.kind.item == "i1":
            for value, word in zip(self.values, words, strict=True):
                self._take_mask(b, value, word, keep=keep)
            return
        part = None if keep else consecutive(words, VECTORS)
        if part is None and not keep and b.may_lie_side_by_side(words):
            part = b.side_by_side(words)
        if part is not None:
            b.copy(self.values[0].all, part)
            return
        if not keep:
            b.moved(words, self.values[0])
            return
        for own, word in zip(self.words, words, strict=True):
            b.say("v_mov_b32", (own,), (word,), keeps=(own,))

    def move(self, b: Builder, words: tuple[Operand, ...]) -> None:
        """Hold other words, in registers of its own: no copy that may be left out."""
        for own, word in zip(self.words, words, strict=True):
            b.say("v_mov_b32", (own,), (word,))

    def _take_mask(
        self, b: Builder, value: Virtual, word: Operand, *, keep: bool
    ) -> None:
        if not keep:
            b.say("s_mov_b64", (value.all,), (b.mask(word),))
            return
        others = b.salu("s_andn2_b64", value.all, "exec", width=2)
        own = b.salu("s_and_b64", b.mask(word), "exec", width=2)
        b.say("s_or_b64", (value.all,), (others, own))


@lowers(Iterate)
def iterate(op: Iterate, emit: Emitter) -> None:
    """A counted loop; what it carries are values that it defines again."""
    assert op.count is not None, "set by expansion"
    assert op.induction is not None, "set by expansion"
    b, region = emit.b, op.body
    iterations = emit.expr(as_expr(op.count))
    turns = iterations.constant_value if iterations.is_constant else 0
    if turns == 1 or (turns > 1 and emit.writes_out and _is_short(op, turns)):
        _written_out(op, op.induction, emit, turns)
        return
    count = b.uniform(b.words(emit.indices.wrapped(iterations))[0])
    inits = [emit.value(value) for value in op.inits]
    carried = _carried(b, inits)
    for argument, each in zip(region.arguments, carried, strict=False):
        emit.define(argument, Value(b.of(each.kind, each.words), *each.kind))
    counter, outer = Virtual(1, SCALARS, "a counter"), dict(emit.renamed)
    b.depth += 1
    with b.region() as block:
        start = emit.expr(as_expr(op.start))
        number = _iteration(emit, counter, iterations)
        emit.renamed[op.induction] = start + number * op.step
        emit.lower(region)
        b.locate(op.location)
        pairs = zip(emit.yielded(region), carried, strict=True)
        _carry(b, carried, [emit.spread(v, c.kind.registers) for v, c in pairs])
    b.depth -= 1
    emit.renamed = outer
    least = emit.facts.bounds(iterations).lo
    _close_loop(b, block.lines, counter, count, least=least)
    emit.set_results(op, tuple(Value(b.of(c.kind, c.words), *c.kind) for c in carried))


_MOST_OPS = 200
"""Ops of all turns of a loop up to which it is written out.

Longer code between two fixed points needs more registers than there may be live in a
better order, so that none is found: attention of two turns was a fifth slower.
"""


def _is_short(op: Iterate, turns: int) -> bool:
    """Whether the turns are written out one after the other: no loop is in another."""
    ops = [*walk(op.body)]
    if any(isinstance(each, Iterate | While) for each in ops):
        return False
    return turns * len(ops) <= _MOST_OPS


def _written_out(op: Iterate, induction: Expr, emit: Emitter, turns: int) -> None:
    """A loop without a jump: the number of each turn is known where it is lowered."""
    inits, outer = [emit.value(value) for value in op.inits], dict(emit.renamed)
    carried = [*inits]
    emit.wrote_out |= turns > 1
    start = emit.expr(as_expr(op.start))
    for turn in range(turns):
        for argument, value in zip(op.body.arguments, carried, strict=False):
            emit.define(argument, value)
        emit.renamed = {**outer, induction: start + turn * op.step}
        emit.lower(op.body)
        pairs = zip(emit.yielded(op.body), inits, strict=True)
        carried = [Value(emit.spread(v, i.registers), *i.kind) for v, i in pairs]
    emit.renamed = outer
    emit.set_results(op, tuple(carried))


def _iteration(emit: Emitter, counter: Virtual, count: Expr) -> Expr:
    """The symbol of the iteration."""
    name = emit.b.of(Kind("i32"), (counter.all,))
    found = symbol(f"$iteration:{name[1:]}")
    emit.indices.bind(found, name, 32, emit.b.level)
    emit.indices.counters[found] = count
    most = emit.facts.bounds(count).hi
    emit.learn(found, 0, (most if most is not None and most > 0 else _COUNT) - 1)
    return found


_COUNT = (1 << 31) - 1
"""Turns that a counter of 32 bits counts, with a sign."""


def _carry(
    b: Builder, carried: list[_Carried], names: list[str], *, keep: bool = False
) -> None:
    """Hold the values of the next iteration, all at once.

    What another of them holds is saved first, for it may be overwritten before. It is
    saved where the iteration begins if it is overwritten by what memory gives: that
    may come there then without a copy that waits for it.
    """
    held: dict[Hashable, int] = {
        value: at for at, each in enumerate(carried) for value in each.values
    }
    following = [b.words(name) for name in names]
    loaded = _loaded(b.blocks[b.here].lines)
    found: list[tuple[Operand, ...]] = []
    for each, words in zip(carried, following, strict=True):
        others = {
            held[word.value]
            for word in words
            if isinstance(word, Part) and word.value in held
        }
        if words == each.words or not others:
            found.append(words)
            continue
        early = all(_all_of(following[other], loaded) for other in others)
        found.append(_saved(b, Datum(each.kind, words), early=early))
    for each, words in zip(carried, found, strict=True):
        if words != each.words:
            each.take(b, words, keep=keep)


def _saved(b: Builder, datum: Datum, *, early: bool) -> tuple[Operand, ...]:
    """Words in registers of their own, which hold them here or from the start on."""
    saved = _Carried(datum)
    if early and b.saves_early:
        b.saved_early = True
        with b.region() as block:
            saved.move(b, datum.words)
        b.blocks[b.here].lines[:0] = block.lines
    else:
        saved.take(b, datum.words, keep=False)
    return saved.words


def _loaded(lines: Sequence[Line]) -> set[Hashable]:
    """What lines load from memory to lanes."""
    return {
        part.value
        for line in lines
        if isinstance(line, Instruction) and line.name.startswith("buffer_load_")
        for part in line.defines
    }


def _all_of(words: tuple[Operand, ...], values: set[Hashable]) -> bool:
    """Whether words are all registers of some values."""
    return all(isinstance(word, Part) and word.value in values for word in words)


def _close_loop(
    b: Builder,
    body: Sequence[Line],
    counter: Virtual,
    count: Operand,
    *,
    least: int | None,
) -> None:
    again, done = b.label("again"), b.label("done")
    b.say("s_mov_b32", (counter.all,), (0,))
    if least is None or least < 1:
        b.say("s_cmp_lt_i32", (), (counter.all, count))
        b.say("s_cbranch_scc0", target=done)
    lines = b.blocks[b.here].lines
    lines.append(Label(again, b.depth + 1))
    lines += body
    b.say("s_add_i32", (counter.all,), (counter.all, 1))
    b.say("s_cmp_lt_i32", (), (counter.all, count))
    b.say("s_cbranch_scc1", target=again)
    lines.append(Label(done, b.depth))


@lowers(While)
def while_loop(op: While, emit: Emitter) -> None:
    """A loop that asks in front of each turn; each lane may leave it by itself."""
    b, region = emit.b, op.body
    inits = [emit.value(value) for value in op.inits]
    carried = _carried(b, inits)
    outer = dict(emit.renamed)
    b.depth += 1
    with b.region() as before:
        _name_carried(op, emit, carried)
        if op.condition is not None:
            held = b.words(emit.indices.truth(emit.expr(op.condition)))[0]
        else:
            held = carried[0].words[0]
    with b.region() as body:
        for argument, each in zip(region.arguments, carried, strict=False):
            emit.define(argument, Value(b.of(each.kind, each.words), *each.kind))
        _name_carried(op, emit, carried)
        emit.lower(region)
        b.locate(op.location)
        pairs = zip(emit.yielded(region), carried, strict=True)
        names = [emit.spread(v, c.kind.registers) for v, c in pairs]
        _carry(b, carried, names, keep=op.by_lane)
    b.depth -= 1
    emit.renamed = outer
    _close_while(b, before.lines, b.mask(held), body.lines, by_lane=op.by_lane)
    emit.set_results(op, tuple(Value(b.of(c.kind, c.words), *c.kind) for c in carried))


def _carried(b: Builder, inits: list[Value]) -> list[_Carried]:
    """Registers for what a loop carries, which hold what it begins with."""
    found = [_Carried(b.data[init.name]) for init in inits]
    for each, init in zip(found, inits, strict=True):
        each.take(b, b.words(init.name), keep=False)
    return found


def _name_carried(op: While, emit: Emitter, carried: list[_Carried]) -> None:
    """Let the symbols of a loop stand for what it carries."""
    for named, each, first in zip(op.symbols, carried, op.inits, strict=False):
        value = Value(emit.b.of(each.kind, each.words), *each.kind)
        name_first(emit, named, value, emit.dtype(first))


def _close_while(
    b: Builder, before: Sequence[Line], held: Operand, body: Sequence[Line], *,
    by_lane: bool,
) -> None:  # fmt: skip
    again, done, lines = b.label("again"), b.label("done"), b.blocks[b.here].lines
    saved = Virtual(2, SCALARS).all
    b.say("s_mov_b64", (saved,), ("exec",))
    lines.append(Label(again, b.depth + 1))
    lines += before
    on = "exec" if by_lane else Virtual(2, SCALARS).all
    b.say("s_and_b64", (on,), (held, "exec"))
    b.say("s_cbranch_scc0", target=done)
    lines += body
    b.say("s_branch", target=again)
    lines.append(Label(done, b.depth))
    b.say("s_mov_b64", ("exec",), (saved,))


@lowers(Conditional)
def conditional(op: Conditional, emit: Emitter) -> None:
    """Code for the lanes that a condition holds for; others take the other values."""
    b = emit.b
    if op.expr is not None:
        name = emit.indices.truth(emit.expr(op.expr))
    else:
        assert op.condition is not None, "a condition or a relation"
        name = emit.value(op.condition).name
    test, outer = b.words(name)[0], dict(emit.renamed)
    results = [_Carried(b.data[emit.value(v).name]) for v in op.else_values]
    for each, value in zip(results, op.else_values, strict=True):
        each.take(b, b.words(emit.value(value).name), keep=False)
    with b.region() as block:
        emit.lower(op.body)
        b.locate(op.location)
        for each, value in zip(results, emit.yielded(op.body), strict=False):
            each.take(b, b.words(emit.spread(value, each.kind.registers)), keep=True)
    emit.renamed = outer
    _close_condition(b, b.mask(test), block.lines)
    emit.set_results(op, tuple(Value(b.of(c.kind, c.words), *c.kind) for c in results))


def _close_condition(b: Builder, mask: Operand, body: Sequence[Line]) -> None:
    saved, after = Virtual(2, SCALARS).all, b.label("after")
    b.say("s_and_saveexec_b64", (saved,), (mask,))
    b.say("s_cbranch_execz", target=after)
    lines = b.blocks[b.here].lines
    lines += body
    lines.append(Label(after, b.depth))
    b.say("s_mov_b64", ("exec",), (saved,))


@lowers(SetSymbol)
def set_symbol(op: SetSymbol, emit: Emitter) -> None:
    """The value of the first active lane."""
    name_first(emit, op.symbol, emit.value(op.value), emit.dtype(op.value))
