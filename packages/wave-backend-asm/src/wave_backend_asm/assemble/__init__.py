"""From lines of assembly to a code object: document, assembler, its messages."""
