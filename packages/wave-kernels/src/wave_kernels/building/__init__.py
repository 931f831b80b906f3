"""Builds wheels of prebuilt kernels: ``wave build-kernels``."""
