"""One file for each group of routes. A route reads the request, calls the library and writes the answer.

Routes below `/v1` are coroutines that never wait: a worker runs each from its beginning to its end (`serve/work.py`),
so they call what blocks directly. Those of `state.py` run on the event loop, and answer while all workers are busy.
"""
