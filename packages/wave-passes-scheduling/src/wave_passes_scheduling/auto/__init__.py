"""Preset ``auto``: which way to compile a kernel an estimate finds fastest."""
