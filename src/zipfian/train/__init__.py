"""Training of vocabularies (torch, extra `train`). Nothing here is needed to index or to search."""
