"""Lowering rules by family of ops; each module is registered by name."""

from __future__ import annotations
