"""Immutable segments in files of `storage`, the manifest that names them, and one writer.

- `field`, `docstore`, `columns`, `vectors`, `deletes`: what the files of a segment hold;
- `segment`, `merge`: a segment as a whole, and several joined into one;
- `manifest`, `commit`, `snapshot`: the commit, its writer, and its readers;
- `check`, `restore`: is everything as it was written, and what to do if not.

`docs/format.md` has the byte layout, `docs/durability.md` the promise.
"""
