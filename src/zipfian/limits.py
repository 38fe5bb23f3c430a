"""Every numeric safety limit of the project, in one place.

A limit turns a mistake or an attack into a clear error before memory or time is spent on it.
"""

from __future__ import annotations

MAX_ID_BYTES = 512
"""UTF-8 bytes of a document id."""

MAX_TEXT_CHARS = 16 * 1024 * 1024
"""Characters of one text field of one document."""

MAX_METADATA_BYTES = 1024 * 1024
"""Bytes of one document's metadata as JSON."""

MAX_COLUMNS = 1_000
"""Distinct metadata columns of a collection."""

MAX_NAME_CHARS = 128
"""Characters of a metadata column or field name."""

MAX_FIELDS = 32
"""Posting sets of one collection."""

MAX_TERMS = 2**31 - 2
"""Largest term space of a field; term ids are 0 .. n_terms - 1."""

MAX_TERM_BYTES = 1_024
"""UTF-8 bytes of one word; longer tokens are cut by the tokenizer."""

MAX_DOCUMENTS = 2**30
MAX_COUNTED = 2**53
"""Documents of one collection, deleted slots included."""

MAX_DOCUMENT_TERMS = 1_000_000
"""Distinct terms of one document in one field."""

MAX_WEIGHT = 1e6
"""Largest term weight of a document."""

MAX_SCALE = 1e18
"""Largest number of steps in a weight of 1, and largest weight of one step: float32 holds every product of the two."""

MAX_QUERY_WEIGHT = 1e6
"""Largest weight of a query term."""

MAX_QUERY_TERMS = 4_096
"""Distinct terms of one query."""

MAX_QUERY_CHARS = 1_000_000
"""Characters of a query text."""

MAX_K = 1_000_000
"""Hits that one search may ask for."""

MAX_BATCH_HITS = 2**28
"""Queries x k of one batch: 4 GiB of ids and scores."""

MAX_SHOWN_HITS = 20
"""Hits of a search that a notebook shows, with passages, thumbnails and reasons; the rest is counted."""

MAX_SHOWN_CHARS = 400
"""Characters of one id, passage or reason that a notebook shows."""

MAX_THUMBNAIL_SIDE = 160
"""Pixels of the longer side of a picture that a notebook shows."""

MAX_THUMBNAIL_BYTES = 64 * 1024
"""Bytes of it as a JPEG: usual ones have 5,000; a larger one is left out."""

MAX_SEARCH_THREADS = 256
"""Threads that one call may search on."""

MAX_FILTER_DEPTH = 32
"""Nesting of and / or / not in a filter."""

MAX_FILTER_NODES = 1_000
"""Conditions in one filter."""

MAX_FILTER_VALUES = 10_000
"""Values of one `in` condition."""

MAX_VECTOR_DIM = 65_536
"""Components of a pooled vector."""

MAX_VECTORS = 32
"""Kinds of pooled vectors of one collection."""

MAX_SEGMENTS = 10_000
"""Segments a manifest may name."""

MAX_MANIFEST_BYTES = 64 * 1024 * 1024
"""Bytes of a manifest file, of a collection or of an encoded shard."""

MAX_PATH_CHARS = 4_096
"""Characters of a path that a collection names: of a picture, a vocabulary, a model."""

MAX_PATH_ENDS = 32
"""Ends of a picture's path that are looked for where its folder may have been moved to."""

MAX_FILE_NAME_CHARS = 120
"""Characters of the name of a file in a collection."""

MAX_TOC_BYTES = 2 * 1024 * 1024
"""Bytes of a data file's table of contents: MAX_COLUMNS columns with the longest names take about 1.4 MB."""

MAX_TOC_COMMAS = 200_000
"""Commas in it, which bound how many objects it becomes: those columns take 29,000, or 157,000 if names are commas."""

MAX_JOINED_PARTS = 8
"""Parts of a compound word (`foo_bar`) that are also indexed run together."""

MAX_CACHED_WORDS = 100_000
"""Entries of each generation of an analyser's word cache."""

MAX_CACHED_WORD_CHARS = 64
"""Characters of a word worth remembering."""

MAX_STEMMED_CHARS = 128
"""Characters of a word that is stemmed; longer ones are no words."""

MAX_DETECTED_CHARS = 400
"""Characters of a text that are read to tell its language."""

MAX_STOP_WORDS = 10_000
"""Words of a custom stop list."""

MAX_FIXED_STEPS = 65_535
"""Largest weight of a `fixed` field in steps of 1/scale (uint16)."""

MAX_SNIPPETS = 1_000
"""Passages that highlighting returns at most."""

MAX_EVIDENCE = 100
"""Places that an explanation lists for one term; the rest is counted."""

MAX_PLACES = 100_000
"""Places of a query's words in one text that highlighting and explaining look at; later ones are not seen."""

MAX_PHI_WEIGHT = 2.0**22
"""Largest phi(weight): a document of MAX_DOCUMENT_TERMS such weights still has a fixed-point length below 2**63."""

MAX_SAE_TERMS = 1_000_000
"""Terms of a sparse autoencoder."""

MAX_LABEL_CHARS = 200
"""Characters of the label of a term."""

MAX_LABEL_FILE_BYTES = 16 * 1024 * 1024
"""Bytes of a vocabulary's labels as they are stored."""

MAX_LABEL_JSON_BYTES = 64 * 1024 * 1024
"""Bytes of the labels unpacked: a small file can unpack to a huge one; nothing beyond this is unpacked."""

MAX_ALIGNED_WORDS = 1_000_000
"""Words an alignment may know."""

MAX_ALIGNED_MEMBERS = 64
"""Heads of an alignment side by side."""

MAX_TEXT_TOKENS = 262_144
"""Word pieces of one text that go through an encoder: 400 MB of vectors at 384 dimensions."""

MAX_IMAGE_BYTES = 128 * 1024 * 1024
"""Bytes of one picture file."""

MAX_IMAGE_PIXELS = 89_478_485
"""Width x height of one picture as it is decoded: a third of a gigabyte in memory, and where Pillow begins to warn."""

MAX_IMAGE_SIDE = 65_535
"""Pixels of either side of a picture: what a JPEG can have. Shrinking a row costs memory by its length."""

MAX_IMAGE_MEMORY = 448 * 1024 * 1024
"""Bytes that decoding one picture to RGB may take at its peak, its file included."""

MAX_IMAGE_METADATA = 16 * 1024 * 1024
"""Bytes of a picture file that are no pixels and come before them: profiles, EXIF, comments, tables."""

MAX_IMAGE_PARTS = 100_000
"""Chunks, segments, strips or blocks of a picture file: each costs microseconds, however small it is."""

MAX_IMAGE_ITEMS = 4_096
"""Items of a HEIC or AVIF file: the tiles of a photograph of 48 million pixels are 192."""

MAX_IMAGE_PADDING = 64 * 1024
"""Bytes of nothing between the segments of a JPEG: they are read one by one."""

MAX_EXIF_ENTRIES = 4_096
"""Entries of a directory of EXIF that are looked at; cameras write about a hundred."""

MAX_JPEG_PIXELS = 2**28
"""Width x height of a JPEG that is decoded at a fraction of its size: photographs have up to 200 million."""

MAX_JPEG_SCANS = 64
"""Passes over the pixels of one JPEG: usual ones have 1 to 12."""

MAX_RLE_PIXELS = 2**21
"""Width x height of a BMP in run lengths, which are read slowly."""

MAX_DRAWN_SIDE = 1_024
"""Pixels of the longer side of a picture that something is drawn on; larger ones are shrunk: a patch needs no more."""

MAX_CONFIG_BYTES = 4 * 1024 * 1024
"""Bytes of a hub model's configuration file: real ones have a few thousand."""

MAX_CHECKPOINT_OPERATIONS = 1_000_000
"""Operations that reading an old checkpoint may take."""

MAX_ARCHIVE_UNPACKED = 4 * 1024**3
"""Bytes unpacked in search of one file of weights in an archive."""

MAX_ARCHIVE_MEMBERS = 100_000
"""Files of such an archive that are looked at."""

MAX_ARCHIVE_DIRECTORY = 16 * 1024 * 1024
"""Bytes of the list of members of a zip file, which is read at once."""

MAX_SHARDS = 10_000
"""Machines that may share the encoding of one source."""

MAX_READ_BYTES = 4 * MAX_TEXT_CHARS
"""Bytes of a text file: a UTF-8 character has at most four, so a larger file cannot be within the limit of one text."""

MAX_FRONT_CHARS = 64 * 1024
"""Characters of the front matter of a Markdown file; a longer block is text."""

MAX_FRONT_KEYS = 200
"""Keys of front matter; a block with more is text."""

MAX_DOCUMENT_PAGES = 10_000
"""Pages of a PDF."""

MAX_DOCUMENT_UNPACKED = 4 * MAX_TEXT_CHARS
"""Bytes of one part of a Word file, unpacked: markup around the text included."""

MAX_DOCUMENT_MEMORY = 1024 * 1024 * 1024
"""Bytes of memory of the process that reads PDF and Word files."""

MAX_DOCUMENT_SECONDS = 60.0
"""Seconds that reading one of them may take."""

MAX_HTML_MARKS = 500_000
"""Tags and entities of one page: each takes microseconds."""

MAX_RECORD_LINES = 1_000_000
"""Lines of one row of a CSV file, those in its texts."""

MAX_RECORD_SEPARATORS = 4_000_000
"""Separators in one row of a CSV file, those in its texts included: each may become a field."""

MAX_GRADE = 30
"""Largest grade whose gain 2^rel - 1 is used; pytrec_eval keeps gains as 32-bit whole numbers."""

MAX_ROTATED_DIM = 8_192
"""Components of a vector that is rotated for surrogate text: the rotation is a square matrix, 256 MiB at this size."""

MAX_WHITENED_DIM = 8_192
"""Components of a region vector that a whitening is fitted for: its covariance is a square matrix."""

MAX_CLUSTER_FREQUENCY = 1 << 20
"""Largest term frequency that is sent to a cluster; larger ones are cut to it."""

MAX_KEYWORD_BYTES = 32_766
"""UTF-8 bytes of one string that a cluster indexes for filters; the server's limit."""

MAX_FILTER_GAPS = 500
"""Values of one `not in` on a list field in a cluster: each becomes a range of its own."""

MAX_SERVED_COLLECTIONS = 64
"""Collections of one service."""

MAX_SERVED_BODY_BYTES = 32 * 1024 * 1024
"""Bytes of the body of one request, counted as they come."""

MAX_SERVED_JSON_VALUES = 200_000
"""Texts, commas and brackets of one body: 1,000 documents with 60 values each."""

MAX_SERVED_IMAGE_BYTES = 20 * 1024 * 1024
"""Bytes of a picture in a request: as base64 it fits into a body."""

MAX_SERVED_K = 1_000
"""Hits of one answer."""

MAX_SERVED_OFFSET = 10_000
"""Hits that a search over HTTP may pass over: a search for offset + k hits finds them all."""

MAX_SERVED_QUERY_CHARS = 20_000
"""Characters of a query over HTTP."""

MAX_SERVED_QUERIES = 64
"""Searches of one request."""

MAX_SERVED_BATCH_HITS = 10_000
"""Searches x k of one request."""

MAX_SERVED_FACTOR = 1_000.0
"""Largest weight of a field, and largest factor of a term, that a request may ask for."""

MAX_SERVED_ADJUSTED = 256
"""Terms that one request may mute or boost in a field."""

MAX_SERVED_FIELDS = MAX_FIELDS
"""Fields that one request may name."""

MAX_SERVED_REASONS = 100
"""Hits of one answer that are explained term by term."""

MAX_SERVED_TEXT_CHARS = 100_000
"""Characters of a document's text in an answer; a document says where it was cut."""

MAX_SERVED_DOCUMENTS = 1_000
"""Documents of one request to add or delete."""

MAX_SERVED_FACETS = 32
"""Columns that one request may count values of."""

MAX_SERVED_VALUES = 1_000
"""Values of a column, or terms of a list, in one answer."""

MAX_SERVED_SIDE = 1_024
"""Pixels of the longer side of a thumbnail."""
