"""How well methods find: datasets, measures, protocols, significance, tuning, and Zipf statistics."""
