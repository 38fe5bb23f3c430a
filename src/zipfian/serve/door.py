"""Who may knock: names the service goes by, pages that may ask, and how a body must come.

A browser on this machine will send requests for any page it shows. It cannot lie about three things: the name it looked
up (Host: a page whose name was pointed here, DNS rebinding, has another), the page that asks (Origin, Sec-Fetch-Site),
and that a JSON body from another page needs leave first (Content-Type), which nobody gets here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from zipfian.errors import Refused, shown

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::(\d{1,5}))?")
SAFE = ("GET", "HEAD")


def check(method: str, headers: Mapping[str, str], hosts: Collection[str]) -> None:
    """Refuse a request that a page of somebody else may have sent."""
    host = headers.get("host", "")
    _check_host(host, hosts)
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2].lower() != host.lower():
        raise Refused(403, "wrong_origin", f"a page of {shown(origin)} may not ask this service", "auth")
    if method in SAFE:
        return
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "wrong_origin", "another page may not ask this service", "auth")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(
            415,
            "wrong_content_type",
            f"a request with a body is JSON: send Content-Type: application/json, not {shown(kind)}",
        )


def _check_host(host: str, hosts: Collection[str]) -> None:
    match = _HOST.fullmatch(host)
    if match is None or match[1].lower().strip("[]") not in hosts:
        raise Refused(
            421, "wrong_host",
            f"this service does not go by the name {shown(host)}; whoever runs it can allow it: --allow-host", "auth",
        )  # fmt: skip
