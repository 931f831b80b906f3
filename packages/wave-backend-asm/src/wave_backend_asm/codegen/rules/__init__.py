"""Rules, by the ops that they lower."""
