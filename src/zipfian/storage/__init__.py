"""Files that are whole or not there, and known again: what every stage that keeps something on a disk stands on.

- `directory`: a flat folder of write-once files behind a small interface, and `lock`, the right to write there;
- `layout`, `container`, `sections`: the one file format, named arrays with a checksum on every block, and what a file
  must hold;
- `record`, `packed`: JSON with its own checksum, and small arrays where a container would be too much;
- `replace`: a file, or a container, that takes the place of another in one step;
- `regular`: how a file that somebody names is opened and hashed.

Nothing here knows what the files are about.
"""
