"""A real TLS endpoint in front of a node: certificates of an authority made on the spot, and what was sent through."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

BUFFER = 1 << 16


def missing() -> str:
    """Why no certificates can be made here, or nothing."""
    return "" if shutil.which("openssl") else "the openssl command is not there: it makes the certificates"


class Authority:
    """Signs certificates; `file` is what a client must know to trust them."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self.folder = folder
        self.file = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        _openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN=zipfian {name}",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign",
            "-keyout", str(self._key), "-out", str(self.file),
        )  # fmt: skip

    def sign(self, name: str, names: str) -> ssl.SSLContext:
        """A server's side of TLS for some names, such as `DNS:localhost,IP:127.0.0.1`."""
        key, request, found = (self.folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        _openssl(
            "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(request)
        )
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={names}\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n")
        _openssl(
            "x509", "-req", "-in", str(request), "-CA", str(self.file), "-CAkey", str(self._key), "-CAcreateserial",
            "-days", "2", "-extfile", str(extensions), "-out", str(found),
        )  # fmt: skip
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(found, key)
        return context


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"openssl {arguments[0]} failed:\n{done.stderr}")


class Endpoint:
    """Ends TLS and hands the bytes on to a port of this machine. `seen` is all that clients sent, in the clear."""

    def __init__(self, context: ssl.SSLContext, target: int, reply: bytes | None = None) -> None:
        self.seen = bytearray()
        self._context, self._target, self._reply = context, target, reply
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                raw, _ = self._listening.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(raw,), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        try:
            inner = self._context.wrap_socket(raw, server_side=True)
        except OSError:  # a client that does not trust us hangs up here
            raw.close()
            return
        if self._reply is not None:
            self.seen += inner.recv(BUFFER)
            inner.sendall(self._reply)
            inner.close()
            return
        outer = socket.create_connection(("127.0.0.1", self._target))
        self._open |= {inner, outer}
        threading.Thread(target=self._pump, args=(outer, inner, False), daemon=True).start()
        self._pump(inner, outer, True)

    def _pump(self, source: socket.socket, sink: socket.socket, note: bool) -> None:
        with suppress(OSError):
            while data := source.recv(BUFFER):
                if note:
                    self.seen += data
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.close()

    def close(self) -> None:
        self._listening.close()
        for end in list(self._open):
            with suppress(OSError):
                end.close()


@contextmanager
def endpoint(context: ssl.SSLContext, target: int, reply: bytes | None = None) -> Iterator[Endpoint]:
    """A running endpoint; with `reply` it answers every request with the same bytes itself."""
    made = Endpoint(context, target, reply)
    try:
        yield made
    finally:
        made.close()
