"""How numba kernels are compiled and where their machine code is kept; importing `jit` loads numba, this does not."""
