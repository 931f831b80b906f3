"""Operands whose contracted dimension is not the contiguous one in memory."""
