"""Ways to bring a tile to LDS: through registers, or directly."""
