"""Dependences through shared memory: derived on demand, never stored.

Scheduler, barrier placement and packer ask `derive.Dependences`; `accesses` lists what
touches LDS, `storage` says where buffers lie.
"""
