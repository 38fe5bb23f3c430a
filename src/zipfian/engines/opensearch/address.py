"""Where a collection is: `opensearch://host:9200/name`, several hosts separated by commas.

`opensearchs://` speaks TLS. Credentials come from the environment, never from the address, which ends up in logs,
shell histories and error messages.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zipfian.errors import InvalidInput

SCHEMES = ("opensearch", "opensearchs")
PORT = 9200
USER, PASSWORD = "ZIPFIAN_OPENSEARCH_USER", "ZIPFIAN_OPENSEARCH_PASSWORD"
API_KEY = "ZIPFIAN_OPENSEARCH_API_KEY"
CA_FILE = "ZIPFIAN_OPENSEARCH_CA"

_ADDRESS = re.compile(r"(?P<scheme>[a-z]+)://(?P<hosts>[^/]+)/(?P<name>[^/]+)/?\Z")
_HOST = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?\Z")
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,199}\Z")


def is_address(path: object) -> bool:
    """Whether a path names a collection in a cluster."""
    return isinstance(path, str) and path.startswith(tuple(f"{scheme}://" for scheme in SCHEMES))


@dataclass(frozen=True, slots=True)
class Address:
    """Nodes to talk to, and the index that is the collection."""

    hosts: tuple[tuple[str, int], ...]
    index: str
    secure: bool

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read an address; every complaint says what would be right."""
        if "@" in text:
            raise InvalidInput(
                f"an address holds no credentials: set {USER} and {PASSWORD}, or {API_KEY}, in the environment"
            )
        found = _ADDRESS.match(text)
        if not found or found["scheme"] not in SCHEMES:
            raise InvalidInput(
                f"{text!r} is no address of a collection: opensearch://host:9200/name, or opensearchs:// with TLS"
            )
        hosts = []
        for part in found["hosts"].split(","):
            host = _HOST.match(part)
            port = int(host["port"] or PORT) if host else 0
            if not host or not 0 < port < 65_536:
                raise InvalidInput(f"{part!r} in {text!r} is no host or host:port")
            hosts.append((host["host"].strip("[]"), port))
        name = found["name"]
        if not _NAME.match(name) or name in (".", ".."):
            raise InvalidInput(
                f"the collection name {name!r} must start with a-z or 0-9, then a-z, 0-9, '_', '-' or '.', "
                "at most 200 characters"
            )
        return cls(tuple(hosts), name, found["scheme"] == "opensearchs")

    @property
    def is_local(self) -> bool:
        """Whether every host is this machine."""
        return all(_is_loopback(host) for host, _ in self.hosts)

    def __str__(self) -> str:
        where = ",".join(f"[{h}]:{p}" if ":" in h else f"{h}:{p}" for h, p in self.hosts)
        return f"{'opensearchs' if self.secure else 'opensearch'}://{where}/{self.index}"


def credentials(address: Address, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Arguments for the client from the environment. Secrets never travel in clear text to another machine."""
    env = os.environ if environ is None else environ
    user, password, key = env.get(USER), env.get(PASSWORD), env.get(API_KEY)
    if key and (user or password):
        raise InvalidInput(f"set either {API_KEY} or {USER} and {PASSWORD}, not both")
    if bool(user) != bool(password):
        raise InvalidInput(f"{USER} and {PASSWORD} go together; only one of them is set")
    out: dict[str, Any] = {}
    if key:
        out["headers"] = {"Authorization": f"ApiKey {key}"}
    elif user and password:
        out["http_auth"] = (user, password)
    if out and not address.secure and not address.is_local:
        raise InvalidInput(
            f"credentials are set but {address} is not encrypted: use opensearchs://, or unset {USER} and {API_KEY}"
        )
    if env.get(CA_FILE):
        out["ca_certs"] = env[CA_FILE]
    return out


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
