"""The only stage that owns files: immutable segments, the manifest that names them, and one writer."""
