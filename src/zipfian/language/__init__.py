"""Which language is this text written in?"""

from __future__ import annotations

from zipfian.language.detector import Detected, detect, detector_version, probabilities
from zipfian.language.names import NAMES
from zipfian.language.scripts import possible

__all__ = ["NAMES", "Detected", "detect", "detector_version", "possible", "probabilities"]
