"""
Endpoints of delta queries: the messages of a folder, and the folders.

See docs/spec/upstream/outlook-mail.md#delta-queries.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sandbox.http import Response
from sandbox.mail.dates import parse_ms
from sandbox.provider_b.endpoint import UserCall, UserEndpoints
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.query_options import Options
from sandbox.provider_b.outlook_mail import attachments, folder_endpoints, message_deltas
from sandbox.provider_b.outlook_mail.folder_endpoints import FolderEndpoints
from sandbox.provider_b.outlook_mail.listing import DEFAULT_TOP, MAX_TOP, MessageLists
from sandbox.provider_b.outlook_mail.mailbox import READ_BASIC, Mailbox
from sandbox.provider_b.outlook_mail.message_deltas import Entry
from sandbox.provider_b.outlook_mail.messages import SHAPE
from sandbox.provider_b.outlook_mail.sync_states import SyncStates
from sandbox.provider_b.responses import GraphError, ok

MAX_FILTERED = 5_000  # messages that a filter returns: delta-query-messages.md
_FILTER = re.compile(r"receivedDateTime (ge|gt) (\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?)?)(\S*)")
_TYPES = ("created", "updated", "deleted")


class DeltaEndpoints:
    """The endpoints of one mailbox."""

    def __init__(self, mailbox: Mailbox, lists: MessageLists, folders: FolderEndpoints) -> None:
        self._mailbox = mailbox
        self._mails = mailbox.state.mails
        self._lists = lists
        self._folders = folders
        state = mailbox.state
        self._states = SyncStates(state.database, mailbox.name, state.clock)

    def add_routes(self, endpoints: UserEndpoints) -> None:
        """Add the routes, which must come before those of a message and of a folder."""
        endpoints.routes.add("GET", "/messages/delta", self.unsupported)
        endpoints.routes.add("GET", "/mailFolders/delta", self.folders)
        endpoints.routes.add("GET", "/mailFolders/{folder}/messages/delta", self.messages)

    def unsupported(self, call: UserCall) -> Response:
        """``GET /messages/delta``: 400, there is none for a whole mailbox."""
        call.require_scope(*READ_BASIC)
        raise GraphError(
            400,
            "BadRequest",
            "Unsupported request: Change tracking is not supported against"
            " 'microsoft.graph.message'.",
        )

    def messages(self, call: UserCall, folder: str) -> Response:
        """``GET /mailFolders/{id}/messages/delta``."""
        call.require_scope(*READ_BASIC)
        key = self._mailbox.folder_key(folder)
        chain, state = self._begun(call, key)
        is_new_round = state["rest"] is None
        if is_new_round:
            upto = self._mails.last_change()
            rest = [message_deltas.written(entry) for entry in self._entries(call, key, state)]
            if state["since"] is not None and not rest:
                return self._answer(call, "messages", [], {"deltatoken": _token(call)})
            state = {**state, "upto": upto, "rest": rest}
        size = call.page_size or state["top"] or DEFAULT_TOP
        page, rest = state["rest"][:size], state["rest"][size:]
        if rest and size > 1:
            rest = [page[-1], *rest]  # an object may come several times
        records = [self._record(call, key, message_deltas.read(values), state) for values in page]
        if rest:
            link = {"skiptoken": self._states.save(chain, {**state, "rest": rest})}
        else:
            done = {**state, "since": state["upto"], "rest": None}
            link = {"deltatoken": self._states.save(chain, done)}
        return self._answer(call, "messages", records, link)

    def folders(self, call: UserCall) -> Response:
        """``GET /mailFolders/delta``: every folder below the root, of every level."""
        call.require_scope(*READ_BASIC)
        token = _token(call)
        if token:
            chain, state = self._states.find(token)
            _check_kind(state, "")
        else:
            shape = folder_endpoints.SHAPE
            options = query_options.parse(call.request.query, shape, expandable={})
            chain, state = self._states.begin(), _state("", options.select, top=options.top)
        known: dict[str, Any] = state["told"]
        now = {record["id"]: record for record in self._folders.records()}
        rest = [name for name, record in now.items() if known.get(name) != record]
        rest += [name for name in known if name not in now]
        if token and not rest:
            return self._answer(call, "mailFolders", [], {"deltatoken": token})
        size = call.page_size or state["top"] or DEFAULT_TOP
        records = [self._folder_record(name, now, state["select"]) for name in rest[:size]]
        known = {name: known[name] for name in known if name in now or name not in rest[:size]}
        known |= {name: now[name] for name in rest[:size] if name in now}
        saved = self._states.save(chain, {**state, "told": known})
        name = "skiptoken" if rest[size:] else "deltatoken"
        return self._answer(call, "mailFolders", records, {name: saved})

    def _begun(self, call: UserCall, key: str) -> tuple[int, dict[str, Any]]:
        """Return the chain and the state that a call continues, or begins."""
        token = _token(call)
        if token:
            chain, state = self._states.find(token)
            _check_kind(state, key)
            return chain, state
        pairs = [(name, value) for name, value in call.request.query if name != "$filter"]
        options = query_options.parse(
            pairs, SHAPE, expandable={"attachments": attachments.SHAPE}, max_top=MAX_TOP
        )
        if options.search is not None or options.skip is not None or options.count:
            raise _bad_query("The query option is not supported for 'Messages' resource.")
        orders = [(order.path, order.descending) for order in options.orderby]
        if orders not in ([], [("receivedDateTime", True)]):
            raise _bad_query("The '$orderby' parameter value is not supported for 'Messages'.")
        change_type = call.request.first("changeType")
        if change_type and change_type not in _TYPES:
            raise _bad_query("The 'changeType' parameter value is not supported.")
        state = _state(key, options.select, top=options.top)
        return self._states.begin(), {
            **state,
            "filter": _received_after(call.request.first("$filter")),
            "type": change_type,
        }

    def _entries(self, call: UserCall, key: str, state: Mapping[str, Any]) -> Iterator[Entry]:
        bound, since = state["filter"], state["since"]
        entries = message_deltas.entries(
            self._mails, self._mailbox.name, key, since, immutable=call.immutable
        )
        left = MAX_FILTERED
        for entry in entries:
            if bound is not None and (entry.received_ms < bound or not left):
                continue
            if since is not None and state["type"] not in ("", entry.kind):
                continue
            left -= 1
            yield entry

    def _record(
        self, call: UserCall, key: str, entry: Entry, state: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        mail = self._mails.find(self._mailbox.name, entry.immutable_id)
        if entry.reason or mail is None or mail.folder != key:
            reason = entry.reason or ("deleted" if mail is None else "changed")
            return message_deltas.removed(entry, reason, immutable=call.immutable)
        options = Options(select=tuple(state["select"]), expand={})
        record = self._lists.record(call, self._lists.view(mail), options)
        return {"@odata.type": "#microsoft.graph.message", **record}

    def _folder_record(
        self, name: str, now: Mapping[str, Any], select: Sequence[str]
    ) -> Mapping[str, Any]:
        if name in now:
            return query_options.select_members(now[name], select)
        return {"id": name, "@removed": {"reason": "deleted"}}

    def _answer(
        self,
        call: UserCall,
        collection: str,
        records: Sequence[Mapping[str, Any]],
        link: Mapping[str, str],
    ) -> Response:
        """Return a page with its link; *link* is the token under the name of its option."""
        kind = "deltaLink" if "deltatoken" in link else "nextLink"
        single = "message" if collection == "messages" else "mailFolder"
        return ok(
            {
                "@odata.context": (f"{call.request.public}/v1.0/$metadata#Collection({single})"),
                f"@odata.{kind}": query_options.next_link(call.url, (), **link),
                "value": records,
            }
        )


def _state(key: str, select: Sequence[str], *, top: int | None) -> dict[str, Any]:
    return {"folder": key, "select": list(select), "top": top, "since": None, "rest": None} | (
        {} if key else {"told": {}}
    )


def _token(call: UserCall) -> str:
    """Return the token of a call; "latest" is ignored, as users report of messages."""
    for name, value in call.request.query:
        if name.lower() in ("$deltatoken", "$skiptoken") and value.lower() != "latest":
            return value
    return ""


def _check_kind(state: Mapping[str, Any], key: str) -> None:
    if state["folder"] != key:
        raise GraphError(400, "BadRequest", "Badly formed token.")


def _received_after(text: str) -> int | None:
    """Return the first received time that a filter lets through, in milliseconds."""
    if not text:
        return None
    match = _FILTER.fullmatch(text.strip())
    if match is None:
        raise _bad_query(
            "The '$filter' parameter value is not supported for 'Messages' resource; only a value"
            " of 'receivedDateTime ge value' is supported."
        )
    bound = parse_ms(match[2] + match[3])
    if bound is None:
        raise _bad_query("The '$filter' parameter has no date.")
    return bound + (match[1] == "gt") * 1000


def _bad_query(message: str) -> GraphError:
    return GraphError(400, "ErrorInvalidUrlQuery", message)
