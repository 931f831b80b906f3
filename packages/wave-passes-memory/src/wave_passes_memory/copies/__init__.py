"""Copies of tiles from global memory to LDS: found, proved, and shared out anew."""
