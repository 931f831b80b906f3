"""Which arguments are staged in LDS, where, and in which shape."""
