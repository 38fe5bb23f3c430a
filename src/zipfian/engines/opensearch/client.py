"""The official client with our errors: every call either answers or says what happened and what to do."""

from __future__ import annotations

import logging
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zipfian.engines.opensearch.address import CA_FILE, Address, credentials
from zipfian.errors import EngineRefused, EngineUnavailable, IndexExists, IndexNotFound, InvalidInput, MissingExtra

RETRY_STATUS = (429, 502, 503, 504)
# The client logs every lost connection with its traceback; without a handler of the user's own that would be printed.
logging.getLogger("opensearch").addHandler(logging.NullHandler())

PASSING = frozenset(
    {
        "node_disconnected_exception", "node_not_connected_exception", "no_shard_available_action_exception",
        "shard_not_available_exception", "search_context_missing_exception", "node_closed_exception",
        "illegal_index_shard_state_exception", "connect_transport_exception", "unavailable_shards_exception",
        "cluster_manager_not_discovered_exception",
    }
)  # fmt: skip
"""What a cluster says, whatever the status, while a node leaves it: the same asked again finds another copy."""
_FACTORLESS = (3, 0)
_FREQUENCIES = (2, 10)


@dataclass(frozen=True, slots=True)
class Server:
    """What kind of server answers, as far as scores and fields depend on it."""

    distribution: str
    version: str

    @property
    def number(self) -> tuple[int, int]:
        """Major and minor version."""
        found = re.match(r"(\d+)\.(\d+)", self.version)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    @property
    def bm25_factor(self) -> bool:
        """Whether its BM25 multiplies by (k1 + 1): all versions before OpenSearch 3 do."""
        return self.number < _FACTORLESS

    @property
    def has_frequencies(self) -> bool:
        """Whether it reads term frequencies from the text (`delimited_term_freq`, since OpenSearch 2.10)."""
        return self.distribution == "opensearch" and self.number >= _FREQUENCIES


class Client:
    """One cluster. Reads go to another node when one does not answer."""

    def __init__(
        self, address: Address, timeout: float = 30.0, verify_certs: bool = True,
        ca_certs: str | os.PathLike[str] | None = None,
    ) -> None:  # fmt: skip
        try:
            import opensearchpy
        except ImportError:
            raise MissingExtra("a collection in OpenSearch", "opensearch") from None
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
            raise InvalidInput(f"timeout must be a number of seconds above 0, not {timeout!r}")
        self.address = address
        self._errors = opensearchpy.exceptions
        options: dict[str, Any] = {
            "hosts": [{"host": host, "port": port} for host, port in address.hosts],
            "use_ssl": address.secure,
            "timeout": timeout,
            "max_retries": 2 * len(address.hosts),
            "retry_on_timeout": True,
            "retry_on_status": (502, 503, 504),
            **credentials(address),
        }
        if ca_certs is not None:
            options["ca_certs"] = os.fspath(ca_certs)
        if address.secure:
            options |= {"verify_certs": verify_certs, "ssl_show_warn": True}
            if not verify_certs:
                options["ssl_assert_hostname"] = False
            if "ca_certs" in options:
                check_authorities(options["ca_certs"])
        self._client = opensearchpy.OpenSearch(**options)
        self._server: Server | None = None

    @property
    def server(self) -> Server:
        """Asked once."""
        if self._server is None:
            about = self.call("GET", "/")["version"]
            self._server = Server(str(about.get("distribution", "elasticsearch")), str(about["number"]))
        return self._server

    def call(
        self, method: str, path: str, body: Any = None, params: Mapping[str, Any] | None = None, **transport: Any
    ) -> Any:
        """One request; `path` starts with '/'. Errors are ours."""
        errors = self._errors
        given = {name: _shown(value) for name, value in (params or {}).items()} | transport
        try:
            return self._client.transport.perform_request(method, path, params=given, body=body)
        except errors.ConnectionTimeout as e:
            raise EngineUnavailable(
                f"{self.address}: no answer in time to {method} {path}; raise timeout=, or look at the cluster's load"
            ) from e
        except errors.SSLError as e:
            raise EngineUnavailable(f"{self.address}: {_untrusted(str(e.error))}") from e
        except errors.ConnectionError as e:
            raise EngineUnavailable(
                f"{self.address}: no node answers ({_brief(e.error)}); is the cluster running, and is this its address?"
            ) from e
        except errors.TransportError as e:
            raise self._refusal(e, method, path) from e

    def _refusal(self, error: Any, method: str, path: str) -> Exception:
        status = error.status_code if isinstance(error.status_code, int) else 0
        kind, reason = reason_of(error.info)
        kind = kind or str(error.error)
        name = self.address.index
        if kind == "index_not_found_exception":
            return IndexNotFound(f"{self.address}: the cluster has no index {name!r}; make it with create")
        if kind == "resource_already_exists_exception":
            return IndexExists(f"{self.address}: there is an index {name!r} already; open it, or choose another name")
        if status == 401 or (status == 403 and kind == "security_exception"):
            return EngineRefused(
                f"{self.address}: not allowed (status {status}); check the credentials in the environment and the "
                "user's rights on this index",
                status,
            )
        if status in RETRY_STATUS or kind in PASSING:
            return EngineUnavailable(
                f"{self.address}: the cluster cannot do it now (status {status}, {kind}: {reason})"
            )
        return EngineRefused(f"{self.address}: {method} {path} was refused (status {status}, {kind}: {reason})", status)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()


def reason_of(info: Any) -> tuple[str, str]:
    """Type and reason of an error as the server words it, the innermost cause first."""
    error = info.get("error") if isinstance(info, Mapping) else None
    if not isinstance(error, Mapping):
        return "", str(error or info)[:300]
    causes = error.get("root_cause") or [error]
    cause = causes[0] if isinstance(causes, list) and isinstance(causes[0], Mapping) else error
    return str(cause.get("type", "")), str(cause.get("reason", ""))[:300]


def check_authorities(file: str) -> None:
    """A file of certificates that can be read; the client would only say so at the first request, and obscurely."""
    try:
        ssl.create_default_context(cafile=file)
    except FileNotFoundError:
        raise InvalidInput(f"{file}: no such file; ca_certs names the certificates of trusted authorities") from None
    except OSError as e:  # SSLError is one
        raise InvalidInput(f"{file}: holds no certificate that can be read ({e})") from None


def _untrusted(error: str) -> str:
    """What a failed handshake means, and what to do."""
    if "ostname mismatch" in error or "IP address mismatch" in error or "doesn't match" in error:
        return f"its certificate is for another host name; use the name it was made for ({_brief(error)})"
    if "CERTIFICATE_VERIFY_FAILED" in error:
        return (
            f"its certificate is not valid or not signed by an authority known here; name the file of its authority "
            f"with ca_certs= or {CA_FILE} ({_brief(error)})"
        )
    if "WRONG_VERSION_NUMBER" in error or "record layer failure" in error:
        return f"the server speaks no TLS there: use opensearch://, or its TLS port ({_brief(error)})"
    return f"no TLS connection ({_brief(error)})"


def _brief(error: Any) -> str:
    return str(error)[:200]


def _shown(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
