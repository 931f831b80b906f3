"""Functions that the machine does not have, made of arithmetic that it has.

Each is a function of LLVM IR on one number, written by a Python function on `Number`,
and inlined where it is called. Nothing of CUDA's library is needed.
"""

from __future__ import annotations
