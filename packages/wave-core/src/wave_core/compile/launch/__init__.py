"""Checked launch: from what a user passes to what an executor gets."""

from __future__ import annotations
