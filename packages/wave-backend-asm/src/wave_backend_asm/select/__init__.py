"""Which instructions compute what rules say: words of `Instructions` on registers."""
