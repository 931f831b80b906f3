"""What `wave inspect` shows of schedules."""

from __future__ import annotations
