"""Rules that say what they compute through `Instructions`; backends list them."""
