"""What whoever starts a service decides."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass

from zipfian.errors import InvalidInput, shown

LOOPBACK = ("localhost", "127.0.0.1", "::1")
PORT = 8765


def _workers() -> int:
    return max(2, min(32, 2 * (os.cpu_count() or 1)))


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """How a service listens, whom it answers and how much it takes on."""

    host: str = "127.0.0.1"
    port: int = PORT
    hosts: tuple[str, ...] = ()
    """Names that requests may address it by, beside those of this machine's loopback and `host` itself."""
    read_keys: tuple[str, ...] = ()
    """Keys that may read, as `keys.hashed` made them."""
    admin_keys: tuple[str, ...] = ()
    """Keys that may write as well."""
    open_to_all: bool = False
    """Whether it may listen on an address that others reach without asking for a key."""
    workers: int = 0
    """Requests worked on at a time; 0: two for each core."""
    waiting: int = 64
    """Requests that may wait for their turn; more are told to come back."""
    deadline: float = 10.0
    """Seconds that a request may take, its body and its turn included."""
    refresh: float = 1.0
    """Seconds between looks for commits of other processes."""
    log_json: bool = False
    log_queries: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise InvalidInput(f"a port is a number from 0 to 65535, not {shown(self.port)}")
        for name, value, most in (("workers", self.workers, 256), ("waiting", self.waiting, 100_000)):
            if not 0 <= value <= most:
                raise InvalidInput(f"{name} is a number from 0 to {most:,}, not {shown(value)}")
        for name, seconds in (("deadline", self.deadline), ("refresh", self.refresh)):
            if not 0.01 <= seconds <= 86_400.0:
                raise InvalidInput(f"{name} is a number of seconds from 0.01 to 86,400, not {shown(seconds)}")
        if not self.local and not self.read_keys and not self.admin_keys and not self.open_to_all:
            raise InvalidInput(
                f"{self.host} can be reached from other machines, and no key is asked for: name a file of keys with "
                "--keys (zipfian serve --new-key makes one), or say --open-to-all if everybody may search"
            )

    @property
    def local(self) -> bool:
        """Whether only this machine reaches it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """What a Host header may name, ports apart."""
        return frozenset(name.lower().strip("[]") for name in (*LOOPBACK, self.host, *self.hosts))

    @property
    def threads(self) -> int:
        """Requests worked on at a time."""
        return self.workers or _workers()
