"""Lucene behind a pipe: `LuceneServer.java` is run from source with the jar of $LUCENE_JAR (JDK 21 or newer)."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines.base import Engine, whole
from benchmarks.workloads import Workload

if not os.environ.get("LUCENE_JAR"):
    raise ImportError("give a jar with --lucene-jar")


class Lucene(Engine):
    scores = "bm25 with 8-bit lengths, tf in hundredths"
    warm_up = 3000

    def build(self, workload: Workload) -> None:
        tf, scale = whole(workload.values)
        self.folder.joinpath("rows").write_bytes(workload.indptr.astype(">i8").tobytes())
        self.folder.joinpath("terms").write_bytes(workload.indices.astype(">i4").tobytes())
        self.folder.joinpath("tf").write_bytes(tf.astype(">i4").tobytes())
        source = Path(__file__).with_name("LuceneServer.java")
        settings = [str(self.folder), str(workload.n_docs), str(self.shape.k1 * scale), str(self.shape.b)]
        command = [os.environ.get("LUCENE_JAVA", "java"), "-Xmx4g", "-XX:+UseSerialGC", "-cp", os.environ["LUCENE_JAR"]]
        self._server = subprocess.Popen(
            [*command, str(source), *settings], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        if self._read(4) != b"DONE":
            raise RuntimeError("Lucene did not finish its index")

    def search(self, terms: Any, weights: Any, k: int) -> Any:
        pipe = self._server.stdin
        if pipe is None:
            raise RuntimeError("no pipe to Lucene")
        pipe.write(struct.pack(">ii", k, len(terms)) + terms.astype(">i4").tobytes() + weights.astype(">f4").tobytes())
        pipe.flush()
        (n,) = struct.unpack(">i", self._read(4))
        return np.frombuffer(self._read(4 * n), ">i4")

    def _read(self, n: int) -> bytes:
        pipe = self._server.stdout
        data = pipe.read(n) if pipe is not None else b""
        if len(data) != n:
            raise RuntimeError("Lucene ended early")
        return data

    def nbytes(self) -> int:
        return sum(p.stat().st_size for p in (self.folder / "index").iterdir())

    def close(self) -> None:
        if self._server.stdin is not None:
            self._server.stdin.close()
        self._server.wait(10)
