"""`/openapi.json`: the REST table and the management API as one OpenAPI document."""

from functools import lru_cache

import orjson
from fastapi import FastAPI


@lru_cache(maxsize=4)
def document(app: FastAPI) -> bytes:
    """Return the document as JSON; built once per process."""
    return orjson.dumps(app.openapi())
