"""Hybrid VL: captions and pictures, fused and reranked without training."""
