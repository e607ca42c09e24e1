"""The documented call that a row of the decision log probably was."""

import re
from collections.abc import Mapping
from functools import cache
from urllib.parse import quote

from rest_compat import documents
from rest_compat.table import ENDPOINTS, Endpoint

_ROOT = re.compile(r"\bresult:\s*(\w+)")
_PARAMETER = re.compile(r"\{\w+\}")


def likely_call(operation: str | None, resource_id: str | None) -> tuple[str, str]:
    """
    Return method and path of the documented call that reaches the root field *operation*.

    The log has neither path nor parameters: *resource_id* fills the one parameter that a path has,
    and a person the others. Both texts are empty where no documented call reaches the field.
    """
    endpoints = _endpoints().get(operation or "", [])
    parameters = 0 if resource_id is None else 1
    fitting = [each for each in endpoints if len(_PARAMETER.findall(each.path)) == parameters]
    if not endpoints:
        return "", ""
    endpoint = (fitting or endpoints)[0]
    path = endpoint.path
    if fitting and resource_id is not None:
        path = _PARAMETER.sub(quote(resource_id, safe=""), path)
    return endpoint.method, path


@cache
def _endpoints() -> Mapping[str, list[Endpoint]]:
    """Return the rows of the table by the root field of their document."""
    by_field: dict[str, list[Endpoint]] = {}
    for endpoint in ENDPOINTS:
        root = _ROOT.search(documents.document(endpoint.document))
        if root is not None:
            by_field.setdefault(root[1], []).append(endpoint)
    return by_field
