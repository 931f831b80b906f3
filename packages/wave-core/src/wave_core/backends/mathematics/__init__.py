"""Functions that machines have no instruction for, written once for all backends."""
