"""Loops rebuilt from schedules: prologue, kernel, epilogue."""

from __future__ import annotations
