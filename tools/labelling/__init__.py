"""Names and kinds for the terms of a text vocabulary, from their strongest firings alone."""
