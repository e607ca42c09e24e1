"""Pages of a collection, each linked to the next by `$skiptoken`. Source: wire report 1D.2, 6."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson

from sandbox.collab.requests import Call
from sandbox.http import Response
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.query_options import Options
from sandbox.provider_b.odata.schema import QueryError
from sandbox.provider_b.responses import ok

T = TypeVar("T")
DEFAULT = 200  # records per page


def page(
    call: Call,
    found: Sequence[T],
    options: Options,
    *,
    key: Callable[[T], str],
    write: Callable[[T], dict[str, Any]],
    context: str,
    default: int = DEFAULT,
) -> Response:
    """
    Answer one page of *found*.

    The token names the last record of the page before it, so that changes in front of that place
    neither lose nor double anything.

    Raises:
        QueryError: The token is none of ours.
    """
    top = options.top or default
    start = 0
    if options.skip_token is not None:
        start = _after(options.skip_token, found, key)
    shown = found[start : start + top]
    body: dict[str, Any] = {"@odata.context": call.context(context)}
    if options.count:
        body["@odata.count"] = len(found)
    if start + top < len(found):
        token = _token(start + top, key(shown[-1]))
        url = call.request.link().partition("?")[0]
        body["@odata.nextLink"] = query_options.next_link(url, call.request.query, skiptoken=token)
    body["value"] = [write(one) for one in shown]
    return ok(body)


def _token(offset: int, last: str) -> str:
    text = orjson.dumps([offset, last])
    return urlsafe_b64encode(text).decode().rstrip("=")


def _after(token: str, found: Sequence[T], key: Callable[[T], str]) -> int:
    try:
        offset, last = orjson.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        offset = int(offset)
    except (ValueError, TypeError):
        raise QueryError("The $skiptoken is invalid.") from None
    if 0 < offset <= len(found) and key(found[offset - 1]) == last:
        return offset
    places = (place for place, one in enumerate(found, 1) if key(one) == last)
    return next(places, max(0, min(offset, len(found))))
