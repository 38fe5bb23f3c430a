"""What the scan of pooled vectors uses of the kernels, in one place."""

from zipfian.retrieve.kernels.codes import Coded, quantise
from zipfian.retrieve.kernels.dense import Asked, Best, dots, empty_heap, keep_best, look_closer, scan
from zipfian.retrieve.kernels.nibbles import STEP

__all__ = ["STEP", "Asked", "Best", "Coded", "dots", "empty_heap", "keep_best", "look_closer", "quantise", "scan"]
