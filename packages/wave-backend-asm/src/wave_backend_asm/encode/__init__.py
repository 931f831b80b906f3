"""Machine code without an assembler: lines that are known, as LLVM encodes them."""
