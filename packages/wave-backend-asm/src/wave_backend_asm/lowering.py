"""The public part of the assembly path, for lowering rules of other packages.

A rule is marked with ``@lowers(MyOp)``, is registered for ``asm``, and is called with
the op and the `Emitter`. `Operands` reads what an op computes with and records its
result; ``emit.instructions`` has core's words (`Instructions`). Instructions of its own
a rule says word by word, with ``emit.b`` (`Builder`): ``words(name)`` are the registers
and numbers of a value, 32 bits each, ``valu(mnemonic, *operands)`` appends an
instruction of lanes and gives the register of its result, and ``of(kind, words)`` names
words as a value. No rule chooses registers, places waits or wait states, or orders
anything: that is done afterwards. `MissingError` is raised for a form that has no
instructions here. Names that are not in this module may change at any time.
"""

from __future__ import annotations

from wave_backend_asm.codegen.emitter import Emitter
from wave_backend_asm.select.builder import Builder
from wave_backend_asm.select.missing import MissingError
from wave_core.backends.emission import Kind, Value, element, gathered, sliced
from wave_core.backends.emission.operands import Operands

__all__ = [
    "Builder",
    "Emitter",
    "Kind",
    "MissingError",
    "Operands",
    "Value",
    "element",
    "gathered",
    "sliced",
]
