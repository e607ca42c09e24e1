"""What all resolvers share: the context, choosing by ids, and pages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from graphql import GraphQLResolveInfo

from sandbox.boards.context import Desk
from sandbox.boards.errors import Refused
from sandbox.storage.documents import Document

Info = GraphQLResolveInfo
Resolver = Callable[..., Any]
_K = TypeVar("_K", bound=Document)
_T = TypeVar("_T")


def desk_of(info: Info) -> Desk:
    """Return the context of this execution."""
    desk: Desk = info.context
    return desk


def by_ids(records: Iterable[_K], ids: Sequence[str] | None) -> list[_K]:
    """Return the records with these ids, all when None."""
    if ids is None:
        return list(records)
    wanted = {str(id_) for id_ in ids}
    return [record for record in records if record.id in wanted]


def paged(found: Sequence[_T], limit: int | None, page: int | None) -> list[_T]:
    """
    Return one page, counted from 1, of 25 when no limit is given.

    Raises:
        Refused: Limit or page is less than 1.
    """
    size = 25 if limit is None else limit
    number = 1 if page is None else page
    if size < 1 or number < 1:
        raise Refused("InvalidArgumentException", "limit and page start at 1.")
    return list(found[(number - 1) * size : number * size])
