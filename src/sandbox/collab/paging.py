"""Pages linked by `$skiptoken`. See docs/spec/upstream/microsoft-files.md#folder-pages."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson

from sandbox.collab.requests import CollabCall
from sandbox.http import Response
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.query_options import Options
from sandbox.provider_b.odata.schema import QueryError
from sandbox.provider_b.responses import ok

T = TypeVar("T")
DEFAULT_PAGE_SIZE = 200  # records per page


def respond_with_page(
    call: CollabCall,
    records: Sequence[T],
    options: Options,
    *,
    key: Callable[[T], str],
    write_record: Callable[[T], dict[str, Any]],
    context: str,
    default_page_size: int = DEFAULT_PAGE_SIZE,
) -> Response:
    """
    Return the response with one page of *records*.

    The token names the last record of the previous page, so that concurrent changes before this
    record neither skip nor repeat a record.

    Raises:
        QueryError: The token is malformed.
    """
    top = options.top or default_page_size
    offset = 0
    if options.skip_token is not None:
        offset = _after(options.skip_token, records, key)
    page_records = records[offset : offset + top]
    body: dict[str, Any] = {"@odata.context": call.context(context)}
    if options.count:
        body["@odata.count"] = len(records)
    if offset + top < len(records):
        token = _token(offset + top, key(page_records[-1]))
        url = call.request.link().partition("?")[0]
        body["@odata.nextLink"] = query_options.next_link(url, call.request.query, skiptoken=token)
    body["value"] = [write_record(record) for record in page_records]
    return ok(body)


def _token(offset: int, last_key: str) -> str:
    text = orjson.dumps([offset, last_key])
    return urlsafe_b64encode(text).decode().rstrip("=")


def _after(token: str, records: Sequence[T], key: Callable[[T], str]) -> int:
    try:
        offset, last_key = orjson.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        offset = int(offset)
    except (ValueError, TypeError):
        raise QueryError("The $skiptoken is invalid.") from None
    if 0 < offset <= len(records) and key(records[offset - 1]) == last_key:
        return offset
    positions = (position for position, record in enumerate(records, 1) if key(record) == last_key)
    return next(positions, max(0, min(offset, len(records))))
