"""What goes wrong in a kernel although its result may be right."""
