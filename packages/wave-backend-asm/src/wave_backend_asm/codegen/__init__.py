"""From the lowered graph to instructions: the state of it, memories, rules by op."""
