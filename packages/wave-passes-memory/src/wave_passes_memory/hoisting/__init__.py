"""What a loop computes or reads again and again is done once."""
