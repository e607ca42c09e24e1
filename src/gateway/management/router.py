"""Routes whose responses are views, and ids in paths."""

import re
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BeforeValidator

from gateway.store.conflicts import retried

_LONG = re.compile(r"[1-9]\d{0,18}", re.ASCII)
_NO_ROW = 2**63 - 1  # which ids never reach


class Router(APIRouter):
    """Routes whose responses are views, without the members that were left out."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """
        Add a route.

        *endpoint* has one transaction, which is repeated when another one rolled it back.
        """
        options["response_model_exclude_unset"] = True
        super().add_api_route(path, retried(endpoint), **options)


def _row_id(text: str) -> int:
    """Parse a `long` of a path; a text that is not one becomes the id of no row."""
    return min(int(text), _NO_ROW) if _LONG.fullmatch(text) else _NO_ROW


RowId = Annotated[int, Path(ge=1, json_schema_extra={"format": "int64"}), BeforeValidator(_row_id)]
