"""Fewer and wider accesses: packed operands of matrix ops, merged reads."""
