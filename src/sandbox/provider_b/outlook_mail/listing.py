"""
Lists of messages, with `$filter` and `$orderby` or with `$search`.

The result of a query is cached until the mailbox changes, so that later pages need no second
search. See docs/spec/upstream/outlook-mail.md#two-search-modes.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from sandbox.http import Response
from sandbox.mail.store import MailStore, StoredMail
from sandbox.provider_b.endpoint import UserCall
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.query_options import Options
from sandbox.provider_b.odata.schema import QueryError
from sandbox.provider_b.outlook_mail import attachments, search
from sandbox.provider_b.outlook_mail.content import ContentCache
from sandbox.provider_b.outlook_mail.messages import (
    BODY_MEMBERS,
    MEMBERS,
    ONLY_WHEN_SELECTED,
    SHAPE,
    MessageView,
)
from sandbox.provider_b.responses import GraphError, ok

DEFAULT_TOP = 10
MAX_TOP = 1000
MAX_RESULTS = 1000  # results of one $search over all its pages
MAX_CLAUSES = 15  # a guess: Graph rejects longer filters as too complex without a documented limit
LARGE_MAILBOX = 20_000  # messages; from here on, large pages and counts take too long
LARGEST_QUICK_TOP = 250  # messages of a page
_MAX_CACHED = 16

_NEWEST_FIRST = (query_options.Order(path="receivedDateTime", descending=True),)

QueryKey = tuple[str | None, ...]


class QueryResult:
    """The messages that a query finds, found as far as they are needed."""

    def __init__(self, matches: Iterable[MessageView]) -> None:
        self._rest = iter(matches)
        self._views: list[MessageView] = []

    def first(self, count: int) -> Sequence[MessageView]:
        """Return at least the first *count* messages, or all when there are fewer."""
        self._views += islice(self._rest, max(0, count - len(self._views)))
        return self._views

    def all(self) -> Sequence[MessageView]:
        """Return all messages."""
        self._views += self._rest
        return self._views


class MessageLists:
    """Lists of the messages of one mailbox, with a cache of query results."""

    def __init__(self, mails: MailStore, mailbox: str, contents: ContentCache) -> None:
        self._mails = mails
        self._mailbox = mailbox
        self._contents = contents
        self._kept: OrderedDict[QueryKey, QueryResult] = OrderedDict()
        self._kept_at = -1
        self._index: dict[int, tuple[bytes, search.Searchable]] = {}

    def options(self, call: UserCall) -> Options:
        """
        Parse the query options of a call on messages.

        Raises:
            QueryError: An option is invalid.
        """
        return query_options.parse(
            call.request.query,
            SHAPE,
            expandable={"attachments": attachments.SHAPE},
            max_top=MAX_TOP,
        )

    def page(self, call: UserCall, folder: str | None) -> Response:
        """
        Return one page of the messages in *folder* (None: in the whole mailbox).

        Raises:
            QueryError: An option is invalid, or the options cannot be combined.
            GraphError: 504, the mailbox is too large for the size of the page or for the count.
        """
        options = self.options(call)
        is_large = len(self._mails.all(self._mailbox)) > LARGE_MAILBOX
        if is_large and (options.count or (options.top or 0) > LARGEST_QUICK_TOP):
            raise GraphError(504, "UnknownError", "The server did not answer in time.")
        result = self._found(call, options, folder)
        top = options.top or min(call.page_size or DEFAULT_TOP, MAX_TOP)
        start = _start(options)
        views = result.first(start + top + 1)
        page_views = views[start : start + top]
        body: dict[str, Any] = {"@odata.context": call.odata_context("messages")}
        if options.count and options.search is None:
            body["@odata.count"] = len(result.all())
        body["value"] = [self.record(call, view, options) for view in page_views]
        if start + top < len(views):
            body["@odata.nextLink"] = _next(call, options, start + top)
        return ok(body)

    def count(self, call: UserCall, folder: str | None) -> int:
        """Count the messages that match the filter of the call."""
        return len(self._found(call, self.options(call), folder).all())

    def record(self, call: UserCall, view: MessageView, options: Options) -> dict[str, Any]:
        """Write one message by its query options."""
        names = members_to_write(options.select)
        if not can_read_bodies(call):
            names = [name for name in names if name not in BODY_MEMBERS]
        record = view.record(names, immutable=call.immutable, body_type=call.body_type)
        inner = options.expand.get("attachments")
        if inner is not None:
            path = f"messages('{record['id']}')/attachments"
            record["attachments@odata.context"] = call.odata_context(path)
            record["attachments"] = attachments.attachment_records(
                view, inner, immutable=call.immutable
            )
        return record

    def view(self, mail: StoredMail) -> MessageView:
        """Return a message as a record."""
        return MessageView(mail, self._contents)

    def _found(self, call: UserCall, options: Options, folder: str | None) -> QueryResult:
        _check_combination(options)
        if self._kept_at != self._mails.last_change():
            self._kept.clear()
            self._kept_at = self._mails.last_change()
        parameters = {name.lower(): value for name, value in call.request.query}
        values = (parameters.get(name, "") for name in ("$filter", "$orderby", "$search"))
        key = (folder, *values)
        result = self._kept.get(key)
        if result is None:
            result = self._kept[key] = QueryResult(self._asked(options, folder))
            if len(self._kept) > _MAX_CACHED:
                self._kept.popitem(last=False)
        return result

    def _asked(self, options: Options, folder: str | None) -> Iterable[MessageView]:
        views: Iterable[MessageView] = (
            self.view(mail)
            for mail in self._mails.all(self._mailbox)
            if folder is None or mail.folder == folder
        )
        if options.search is not None:
            test = search.parse(options.search)
            hits = [view for view in views if test(self._indexed(view))]
            hits.sort(key=lambda view: str(view.get("sentDateTime")), reverse=True)
            return hits[:MAX_RESULTS]
        if options.filter is not None:
            views = filter(options.filter.matches, views)
            if not options.orderby:
                # Graph defines no order here; this is the order of arrival.
                return sorted(views, key=lambda view: view.mail.seq)
        if options.orderby == _NEWEST_FIRST:
            return views  # the store's own order
        return query_options.sort_records(views, options.orderby)

    def _indexed(self, view: MessageView) -> search.Searchable:
        cached = self._index.get(view.mail.seq)
        if cached is None or cached[0] is not view.mail.raw:
            cached = self._index[view.mail.seq] = (view.mail.raw, view.searchable())
        return cached[1]


def members_to_write(select: Sequence[str]) -> list[str]:
    """Return the names of the members to write, in the order of responses."""
    if not select or "*" in select:
        return [name for name in MEMBERS if name not in ONLY_WHEN_SELECTED]
    chosen = {path.partition("/")[0] for path in select}
    return [name for name in MEMBERS if name in chosen]


def can_read_bodies(call: UserCall) -> bool:
    """Whether the token has more than the basic mail permission."""
    return call.has_scope("Mail.Read", "Mail.ReadWrite")


def _check_combination(options: Options) -> None:
    if options.search is not None:
        for name, is_present, word in (
            ("$orderBy", bool(options.orderby), "SearchWithOrderBy"),
            ("$filter", options.filter is not None, "SearchWithFilter"),
            ("$skip", options.skip is not None, "SearchWithSkip"),
        ):
            if is_present:
                raise QueryError(
                    f"The query parameter '{name}' is not supported with '$search'.", code=word
                )
        return
    if options.filter is None:
        return
    for path in options.filter.properties:
        if path in ("toRecipients", "ccRecipients", "bccRecipients", "replyTo"):
            raise QueryError(
                "The query filter contains one or more invalid nodes.",
                code="ErrorInvalidUrlQueryFilter",
            )
    paths = tuple(order.path for order in options.orderby)
    in_step = options.filter.properties[: len(paths)] == paths
    if not in_step or options.filter.clauses > MAX_CLAUSES:
        raise QueryError(
            "The restriction or sort order is too complex for this operation.",
            code="InefficientFilter",
        )


def _start(options: Options) -> int:
    if options.search is None:
        return options.skip or 0
    if options.skip_token is None:
        return 0
    try:
        return int(urlsafe_b64decode(options.skip_token + "==").decode().removeprefix("s"))
    except ValueError:
        raise QueryError("Badly formed token.", code="BadRequest") from None


def _next(call: UserCall, options: Options, start: int) -> str:
    if options.search is None:
        return query_options.next_link(call.url, call.request.query, skip=start)
    token = urlsafe_b64encode(f"s{start}".encode()).decode().rstrip("=")
    return query_options.next_link(call.url, call.request.query, skiptoken=token)
