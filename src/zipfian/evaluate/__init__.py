"""The evaluation lab: datasets, measures, protocols, significance, and one command per published table."""
