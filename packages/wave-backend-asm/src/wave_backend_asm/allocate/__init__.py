"""Registers for values, by their live ranges over a known order."""
