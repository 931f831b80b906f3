"""WV99: defects of Wave itself, and malformed IR text."""

from __future__ import annotations

from wave_core.diagnostics.code import read_codes

INTERNAL_CODES = read_codes("""
WV9901: a pass failed
Cause: the pass raised an error that is not a message to you.
Bad:
    a kernel the pass was never tried on
Good:
    --disable the-pass        # if it only makes code faster
Fix: report it with the kernel and the options. `wave pipeline` shows which
package the pass is from.

WV9902: a pass left a graph that breaks the rules of the IR
Cause: the verifier found an op without a type, a use before its definition,
or the like, after this pass and not before it.
Bad:
    graph.erase(op)           # while op still has users
Good:
    rewriter.replace(op, new)
Fix: report it; authors of the pass find the op in the message.

WV9903: a fact is missing or not true
Cause: a pass relied on a fact that its predecessors claim, such as every op
having a placement, and it does not hold for this op.
Bad:
    PassSpec("my-pass", ..., clobbers=())        # and it makes new ops
Good:
    PassSpec("my-pass", ..., clobbers=("indexed",))
Fix: report it; authors declare what a pass clobbers, or keep it up.

WV9904: IR text cannot be read
Cause: text given to the IR parser does not follow its grammar.
Bad:
    %1 = read %0, [] {
Good:
    %1 = read %0, [] : reg<M, K, f16>
Fix: the message marks the place. Print a graph to see the form.

WV9905: an op lacks a rule that it needs
Cause: an op reached a stage that has no rule for it: it should have been
replaced before, or its class is incomplete.
Bad:
    class MyOp(Op): ...                # without `evaluate`
Good:
    class MyOp(Op):
        def evaluate(self, value): ...
Fix: report it; authors of the op add the rule that the message names.

WV9906: a message has a code that is not in the catalogue
Cause: code of Wave reports something under a code nobody declared.
Bad:
    user_error("WV0299", "...")         # no row WV0299
Good:
    WV0299: the title            # in codes_types.py
Fix: report it; the note has the message that was meant for you.

WV9907: a pass made an op without a location
Cause: every op says which line of the kernel it comes from, so that later
messages can. A pass made one from nothing.
Bad:
    graph.insert(Add(a, b))
Good:
    rewriter.replace(op, Add(a, b))     # keeps the lines of `op`
Fix: report it; authors of the pass use the rewriter, or `fuse` locations.
""")
