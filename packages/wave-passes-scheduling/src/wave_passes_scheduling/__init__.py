"""Scheduling passes for Wave: software pipelining, reordering, manual schedules."""

from __future__ import annotations
