"""Running one pass on the text of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.compile import Session
from wave_core.ir import parse_graph
from wave_core.ir import print_graph
from wave_core.passes import PassContext
from wave_core.passes.load import load_pass
from wave_core.passes.text import PassText

if TYPE_CHECKING:
    from wave_core.passes import Pass


def run_pass_on_text(which: str | Pass, text: str, target: str = "generic") -> str:
    """The graph in ``text`` after one pass, as text.

    ``which`` is a pass, or the text form of an installed one:
    ``minimize-global-loads{max-bits=64}``.
    """
    session = Session()
    graph = parse_graph(text, session.plugins.op_classes)
    one = find_pass(session, which) if isinstance(which, str) else which
    one.apply(graph, PassContext(session.target(target)))
    graph.verify()
    return print_graph(graph)


def find_pass(session: Session, text: str) -> Pass:
    """The installed pass that ``text`` names, with its options."""
    wanted = PassText.parse(text)
    installed = {each.name: each for each in session.plugins.passes}
    return load_pass(installed[wanted.name], dict(wanted.options))
