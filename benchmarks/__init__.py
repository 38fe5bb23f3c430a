"""The project's own benchmarks: `python -m benchmarks --help`. A benchmark is never a timed test."""
