"""Collections over HTTP: `zipfian serve`. The extra `serve` has what it needs; importing this loads none of it."""
