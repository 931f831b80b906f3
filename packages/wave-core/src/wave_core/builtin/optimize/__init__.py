"""Part of the naive, correct pipeline."""
