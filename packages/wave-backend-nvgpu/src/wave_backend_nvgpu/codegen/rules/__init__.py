"""Lowering rules of this package, by family of ops."""

from __future__ import annotations
