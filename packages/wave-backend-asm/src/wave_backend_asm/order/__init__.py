"""The order of operations between two fixed points."""
