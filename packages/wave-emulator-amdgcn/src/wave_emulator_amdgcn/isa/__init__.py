"""What each instruction does, one module per family."""
