"""BM25-V: pictures found by BM25 over visual words."""
