"""Machine code of AMD GPUs, with no other compiler between."""
