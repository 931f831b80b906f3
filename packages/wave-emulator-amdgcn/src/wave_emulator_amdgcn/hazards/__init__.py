"""Hazards: defects of a kernel whose result may be right nevertheless."""
