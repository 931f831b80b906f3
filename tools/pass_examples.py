"""Examples of passes: IR before and after, as a difference in the pass's docstring.

    python tools/pass_examples.py [PASS ...]      # writes again what the passes make

The section ``Example::`` of a docstring, or ``Example, as `pass{option=1}`::``, holds
a graph in text form. Lines of both graphs begin with two blanks, those that the pass
takes away with ``-``, those that it makes with ``+``. An op goes on in lines that are
indented more. Names are the author's; new values are numbered on.

To write an example, write the graph before, each line after two blanks, and run this.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from wave_core.ir.parser import parse_graph
from wave_core.ir.printer import value_names
from wave_core.passes import PassContext, PassText
from wave_core.plugin import PluginHost

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wave_core.ir.graph import Graph
    from wave_core.passes import InstalledPass, Pass

_ROOM = 78
_BLANK = "\xa0"
# Blanks inside expressions, where the text does not go on in another line.
_UNBROKEN = re.compile(r"(?<=[^,:]) (?=[^:{])")
_HEAD = re.compile(r"^( *)Example(?:, as `(?P<text>[^`]+)`)?::\n\n", re.MULTILINE)
_VALUE = re.compile(r"(?<![\w)])%\w+")


@dataclass(frozen=True)
class Example:
    """One example, as the docstring has it.

    Attributes:
        text: The pass with options, in text form.
        lines: The difference, with a mark before each line.
    """

    text: PassText
    lines: tuple[str, ...]

    @property
    def before(self) -> str:
        """The graph that the pass gets."""
        return self._without("+")

    @property
    def after(self) -> str:
        """The graph that it leaves."""
        return self._without("-")

    def _without(self, mark: str) -> str:
        return "\n".join(line[2:] for line in self.lines if line[:1] != mark)


def pass_class(each: InstalledPass) -> type[Pass]:
    """The class of an installed pass."""
    module, _, name = each.spec.target.partition(":")
    return getattr(import_module(module), name)


def example_of(each: InstalledPass) -> Example | None:
    """What the docstring of a pass shows; ``None`` where it shows nothing."""
    doc = inspect.cleandoc(pass_class(each).__doc__ or "")
    head = _HEAD.search(doc)
    if head is None:
        return None
    block = re.match(r"(?:    .*(?:\n|\Z)|\n)*", doc[head.end() :])
    lines = (block[0] if block else "").rstrip("\n").split("\n")
    text = PassText.parse(head["text"] or each.name)
    return Example(text, tuple(line[4:] for line in lines))


def outcome(host: PluginHost, each: InstalledPass, shown: Example) -> Example:
    """The example with what the pass makes of its graph now."""
    graph = parse_graph(shown.before, host.op_classes.values())
    names, text = _author_names(shown.before, graph), str(graph)
    before = [_renamed(line, names) for line in text.splitlines()]
    kept: dict[object, str] = {o: names[n] for o, n in value_names(graph).items()}
    labels = {each.label: kept[each] for each in graph.parameters}
    transform(host, each, shown, graph)
    kept |= {each: labels[each.label] for each in graph.parameters}
    names = _names_after(graph, kept)
    after = [_renamed(line, names) for line in str(graph).splitlines()]
    return Example(shown.text, tuple(_difference(before, after)))


def transform(
    host: PluginHost, each: InstalledPass, shown: Example, graph: Graph
) -> bool:
    """Run the pass on ``graph``; whether that changed something."""
    step = pass_class(each).with_options(shown.text.options)
    context = PassContext(
        host.load_target(graph.target), strategies=host.strategy_loaders
    )
    return step.should_run(graph) and step.apply(graph, context)


def _author_names(text: str, graph: Graph) -> dict[str, str]:
    """The names that a text gives to values, by those that the printer gives."""
    own = dict.fromkeys(re.findall(r"(?m)^ *(%\w+) =", text))
    return dict(zip(value_names(graph).values(), own, strict=True))


def _names_after(graph: Graph, kept: Mapping[object, str]) -> dict[str, str]:
    fresh = iter(f"%{n}" for n in range(1000) if f"%{n}" not in set(kept.values()))
    return {
        name: kept.get(op) or next(fresh) for op, name in value_names(graph).items()
    }


def _renamed(line: str, names: Mapping[str, str]) -> str:
    return _VALUE.sub(lambda found: names.get(found[0], found[0]), line)


def _difference(before: list[str], after: list[str]) -> Iterator[str]:
    """Both texts in one, an op in as many lines as it needs."""
    for tag, a, b, c, d in SequenceMatcher(None, before, after, False).get_opcodes():
        if tag == "equal":
            yield from _wrapped("  ", before[a:b])
            continue
        yield from _wrapped("- ", before[a:b])
        yield from _wrapped("+ ", after[c:d])


def _wrapped(mark: str, lines: list[str]) -> Iterator[str]:
    """Lines cut where the docstring ends: between facts if that is enough."""
    for line in filter(None, lines):
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        parts = [line] if len(line) <= _ROOM else re.split(r" (?=@)", line)
        for number, part in enumerate(parts):
            found = textwrap.wrap(
                _UNBROKEN.sub(_BLANK, part),
                _ROOM,
                initial_indent=indent if number else "",
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
            yield from (mark + each.replace(_BLANK, " ") for each in found)


def rewrite(each: InstalledPass, made: Example) -> None:
    """Put an example into the source of the pass, in place of the one that is there."""
    cls = pass_class(each)
    path = Path(inspect.getfile(cls))
    source = path.read_text("utf-8")
    head = _HEAD.search(source, source.index(f"class {cls.__name__}("))
    assert head is not None, "the docstring has an example"
    indent = f"{head[1]}    "
    old = re.compile(rf"(?:{indent}.*\n|\n(?={indent}))*").match(source, head.end())
    end = old.end() if old else head.end()
    block = "".join(f"{indent}{line}".rstrip() + "\n" for line in made.lines)
    path.write_text(source[: head.end()] + block + source[end:], "utf-8")


def main() -> int:
    """Write the examples of the passes that are named, or of all."""
    host = PluginHost()
    for each in host.passes:
        shown = example_of(each)
        if shown is not None and (each.name in sys.argv or not sys.argv[1:]):
            made = outcome(host, each, shown)
            if made != shown:
                rewrite(each, made)
                print(f"{each.name}: {len(made.lines)} lines")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
