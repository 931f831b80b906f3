"""Views of schedules for `wave inspect`."""

from __future__ import annotations
