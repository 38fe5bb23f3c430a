"""The version, in the one place that the build, the command line and the manifests read it from."""

from __future__ import annotations

__version__ = "0.1.0"
