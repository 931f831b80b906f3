"""Schedules that authors write, carried out on the loops of their kernels."""

from __future__ import annotations
