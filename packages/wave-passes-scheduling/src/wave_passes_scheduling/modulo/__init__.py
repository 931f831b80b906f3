"""Modulo scheduling: when each task of a loop starts, iterations overlapping."""

from __future__ import annotations
