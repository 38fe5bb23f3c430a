"""The peer of `benchmarks.serve`: tantivy behind a thin service of the same kind (uvicorn and starlette, threads)."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tantivy

MOST_QUERY_WORDS = 64


def _schema() -> Any:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("text", stored=False, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def build(folder: Path, documents: Iterable[tuple[str, str]]) -> None:
    """An index of ids and texts, in one segment."""
    folder.mkdir()
    writer = tantivy.Index(_schema(), path=str(folder)).writer(heap_size=500_000_000, num_threads=1)
    for doc_id, text in documents:
        writer.add_document(tantivy.Document(id=doc_id, text=text))
    writer.commit()
    writer.wait_merging_threads()


class Writer:
    """Replaces documents of an index that another process searches."""

    def __init__(self, folder: Path) -> None:
        self._index = tantivy.Index(_schema(), path=str(folder))
        self._writer = self._index.writer(heap_size=50_000_000, num_threads=1)

    def replace(self, documents: Iterable[tuple[str, str]]) -> None:
        """One commit."""
        for doc_id, text in documents:
            self._writer.delete_documents_by_term("id", doc_id)
            self._writer.add_document(tantivy.Document(id=doc_id, text=text))
        self._writer.commit()


def serve(folder: Path, taken: socket.socket, threads: int) -> None:
    """Answer until this process is ended; new commits are looked for every second, as zipfian does."""
    import anyio.to_thread
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    schema = _schema()
    index = tantivy.Index(schema, path=str(folder))
    limit = anyio.CapacityLimiter(threads)

    def look() -> None:
        while True:
            time.sleep(1.0)
            index.reload()

    def search(text: str, k: int) -> dict[str, Any]:
        begun = time.perf_counter()
        words = text.split()[:MOST_QUERY_WORDS]
        clauses = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "text", word, "freq")) for word in words]
        searcher = index.searcher()
        found = searcher.search(tantivy.Query.boolean_query(clauses), k, count=False)
        hits = [{"id": searcher.doc(address)["id"][0], "score": score} for score, address in found.hits]
        return {"hits": hits, "time": time.perf_counter() - begun}

    async def answer(request: Request) -> JSONResponse:
        body = await request.json()
        return JSONResponse(
            await anyio.to_thread.run_sync(search, str(body["text"]), int(body.get("k", 10)), limiter=limit)
        )

    async def ready(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ready"})

    threading.Thread(target=look, daemon=True).start()
    app = Starlette(routes=[Route("/search", answer, methods=["POST"]), Route("/ready", ready)])
    config = uvicorn.Config(app, http="h11", ws="none", log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[taken])
