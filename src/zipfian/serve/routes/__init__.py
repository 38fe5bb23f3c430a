"""One file for each group of routes. A route reads the request, calls the library and writes the answer."""
