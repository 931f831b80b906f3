"""The semantics of instructions, one module per family."""
