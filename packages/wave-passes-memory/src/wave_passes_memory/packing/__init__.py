"""Buffers of LDS that are not alive at the same time share memory."""
