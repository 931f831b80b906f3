"""Instructions with virtual registers, and how they become lines of assembly."""
