"""Functions that all resolvers share: the context, filters by id, and pages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from graphql import GraphQLResolveInfo

from sandbox.boards.context import ExecutionContext
from sandbox.boards.errors import ApiError
from sandbox.storage.documents import Document

Info = GraphQLResolveInfo
Resolver = Callable[..., Any]
_RecordT = TypeVar("_RecordT", bound=Document)
_T = TypeVar("_T")


def context_of(info: Info) -> ExecutionContext:
    """Return the context of this execution."""
    context: ExecutionContext = info.context
    return context


def filter_by_ids(records: Iterable[_RecordT], ids: Sequence[str] | None) -> list[_RecordT]:
    """Return the records with these ids; all of them when *ids* is None."""
    if ids is None:
        return list(records)
    wanted_ids = {str(record_id) for record_id in ids}
    return [record for record in records if record.id in wanted_ids]


def paginate(records: Sequence[_T], limit: int | None, page: int | None) -> list[_T]:
    """
    Return one page; *page* counts from 1, *limit* is 25 by default.

    Raises:
        ApiError: *limit* or *page* is less than 1.
    """
    size = 25 if limit is None else limit
    number = 1 if page is None else page
    if size < 1 or number < 1:
        raise ApiError("InvalidArgumentException", "limit and page start at 1.")
    return list(records[(number - 1) * size : number * size])
