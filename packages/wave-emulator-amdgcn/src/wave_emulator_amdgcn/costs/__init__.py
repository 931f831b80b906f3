"""Counters and the estimate of cycles."""
