"""Loop invariants, computed and read once."""
