"""Waits for memory, and the wait states that the hardware does not keep itself."""
