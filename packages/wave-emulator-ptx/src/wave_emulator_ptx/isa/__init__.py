"""What instructions do."""
