"""The service as FastAPI describes it, and the key that FastAPI knows nothing of: the gate asks for it."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from zipfian.serve.gate import API

KEY = {"type": "http", "scheme": "bearer", "description": "A key of the service, where it asks for one."}


class Described(FastAPI):
    """An application whose OpenAPI document says that routes of the API take a key.

    As a dependency of every route the key would be looked for a second time in every request.
    """

    def openapi(self) -> dict[str, Any]:
        """The document; FastAPI makes it once and keeps it."""
        if self.openapi_schema is None:
            made = super().openapi()
            made["components"]["securitySchemes"] = {"HTTPBearer": KEY}
            for path, methods in made["paths"].items():
                if path.startswith(API):
                    for about in methods.values():
                        about["security"] = [{"HTTPBearer": []}]
        return super().openapi()
