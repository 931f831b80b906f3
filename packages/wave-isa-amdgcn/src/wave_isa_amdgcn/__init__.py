"""Facts of the AMDGCN instruction sets, for who writes and who checks machine code."""
