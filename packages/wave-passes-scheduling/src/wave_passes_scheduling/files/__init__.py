"""Schedules as files: the text format, and JSON."""

from __future__ import annotations
