"""Routes whose responses are views, and ids in paths."""

import re
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter

from gateway.store.conflicts import retried

_LONG = re.compile(r"[1-9]\d{0,18}", re.ASCII)
_MAX_LONG = 2**63 - 1


class Router(APIRouter):
    """Routes whose responses are views, without the members that were left out."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """
        Add a route.

        *endpoint* has one transaction, which is repeated when another one rolled it back.
        """
        options["response_model_exclude_unset"] = True
        super().add_api_route(path, retried(endpoint), **options)


def row_id(text: str) -> int:
    """Parse a `long` of a path; a text that is not one becomes 0, which no row has."""
    number = int(text) if _LONG.fullmatch(text) else 0
    return number if number <= _MAX_LONG else 0
