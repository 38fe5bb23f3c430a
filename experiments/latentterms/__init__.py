"""Latent Terms: texts found by BM25 over the terms of a sparse autoencoder."""
