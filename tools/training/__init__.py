"""What the training programs share. Needs torch, tokenizers, safetensors, Pillow and numpy; no numba."""
