"""Graphs of torch, and what of them becomes a kernel of Wave."""
