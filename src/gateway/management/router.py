"""A router whose responses are sent as returned; OpenAPI describes the return annotations."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter


class Router(APIRouter):
    """Routes without response validation: mypy alone checks responses against their annotations."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add a route; its response is any object, or empty with status 204."""
        options["response_model"] = None if options.get("status_code") == 204 else dict[str, Any]
        super().add_api_route(path, endpoint, **options)
