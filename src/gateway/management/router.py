"""Routes whose responses are sent as returned, as their annotations describe, and ids in paths."""

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from fastapi import APIRouter, Response
from pydantic import BaseModel

from gateway.store.conflicts import retried

_LONG = re.compile(r"[1-9]\d{0,18}", re.ASCII)
_MAX_LONG = 2**63 - 1


View = TypeVar("View")


class Encoded(Response, Generic[View]):
    """A JSON response that was encoded in parts, as one long call would stop other requests."""

    media_type = "application/json"


class Router(APIRouter):
    """Routes whose responses are views, without the members that were left out."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """
        Add a route; its response is empty with status 204.

        *endpoint* has one transaction, which is repeated when another one rolled it back.
        """
        if options.get("status_code") == 204:
            options["response_model"] = None
        elif not is_model(endpoint.__annotations__["return"]):
            options["response_model"] = dict[str, Any]
        options["response_model_exclude_unset"] = True
        super().add_api_route(path, retried(endpoint), **options)


def is_model(kind: Any) -> bool:
    """Return whether FastAPI describes responses of this type."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def row_id(text: str) -> int:
    """Parse a `long` of a path; a text that is not one becomes 0, which no row has."""
    number = int(text) if _LONG.fullmatch(text) else 0
    return number if number <= _MAX_LONG else 0
