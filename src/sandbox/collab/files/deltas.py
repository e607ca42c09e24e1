"""
Changes of a library since a token: docs/spec/upstream/microsoft-files.md#library-delta.

A token names what was returned, in memory: after a restart, and once there are too many, it is 410.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import Any
from urllib.parse import quote

from sandbox.collab import records as r
from sandbox.collab.errors import invalid_request
from sandbox.collab.files import items
from sandbox.collab.files.listing import write_expanded
from sandbox.collab.requests import CollabCall
from sandbox.http import Response, Router
from sandbox.provider_b.odata.schema import QueryError
from sandbox.provider_b.responses import GraphError, ok

DEFAULT_PAGE = 200  # records
MAX_TOKENS = 1000
LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Round:
    """
    The state that a token names.

    Attributes:
        known: The items that were returned, by their ids.
        rest: Ids of the round that were not returned yet; empty at its end.
    """

    drive: str
    known: Mapping[str, r.Item]
    rest: tuple[str, ...] = ()


def install(routes: Router) -> None:
    """Register the endpoint."""
    routes.add("GET", "/drives/{drive}/items/{item}/delta", list_changes)


def list_changes(call: CollabCall, drive: str, item: str) -> Response:
    """List what has changed in a library since a token; without one, everything in it."""
    root = call.item(drive, item)
    if root.parent_id:
        raise invalid_request("Delta is supported on the root of a library only.", "notSupported")
    options, annotations = call.options(items.SHAPE, expandable=items.EXPANDABLE)
    if options.filter is not None or options.search is not None or options.orderby:
        raise QueryError("The query option is not supported for delta.")
    token, now = call.request.first("token"), _items(call, root.drive_id)
    if token == LATEST:
        return _answer(call, root.drive_id, [], Round(root.drive_id, now))
    state = call.store.deltas.get(token) if token else Round(root.drive_id, {})
    if state is None or state.drive != root.drive_id:
        raise GraphError(
            410,
            "resyncRequired",
            "The resync is required: the token is no longer valid.",
            inner={"code": "resyncChangesApplyDifferences"},
        )
    rest = state.rest or _changed(call, state.known, now)
    if token and not rest:
        return _answer(call, root.drive_id, [], token)
    size = options.top or DEFAULT_PAGE
    records = [
        _deleted(root.drive_id, name)
        if name not in now
        else _without_path(write_expanded(call, now[name], options, annotations))
        for name in rest[:size]
    ]
    known = {name: each for name, each in state.known.items() if name not in rest[:size]}
    known |= {name: now[name] for name in rest[:size] if name in now}
    return _answer(call, root.drive_id, records, Round(root.drive_id, known, rest[size:]))


def _items(call: CollabCall, drive: str) -> dict[str, r.Item]:
    return {each.id: each for each in call.store.items(drive)}


def _changed(
    call: CollabCall, known: Mapping[str, r.Item], now: Mapping[str, r.Item]
) -> tuple[str, ...]:
    """Return the ids that changed, and those of the folders above them, from the top down."""
    changed = [name for name, each in now.items() if known.get(name) != each]
    above = {folder.id: None for name in changed for folder in call.store.ancestors(now[name])}
    gone = [name for name in known if name not in now]
    return tuple(dict.fromkeys((*above, *changed, *gone)))


def _deleted(drive: str, name: str) -> dict[str, Any]:
    reference = {"driveType": "documentLibrary", "driveId": drive}
    return {"id": name, "parentReference": reference, "deleted": {"state": "deleted"}}


def _without_path(record: dict[str, Any]) -> dict[str, Any]:
    reference = record.get("parentReference")
    if not isinstance(reference, dict):
        return record
    thin = {name: value for name, value in reference.items() if name not in {"path", "name"}}
    return {**record, "parentReference": thin}


def _answer(
    call: CollabCall, drive: str, records: list[dict[str, Any]], following: Round | str
) -> Response:
    """Return a page; *following*: the round that goes on, or the token that stays."""
    if isinstance(following, Round):
        token = token_urlsafe(48)
        while len(call.store.deltas) >= MAX_TOKENS:
            del call.store.deltas[next(iter(call.store.deltas))]
        call.store.deltas[token] = following
    else:
        token = following
    kind = "nextLink" if isinstance(following, Round) and following.rest else "deltaLink"
    query = [(name, value) for name, value in call.request.query if name != "token"]
    text = "&".join(
        f"{quote(n, safe='$')}={quote(v, safe='')}" for n, v in (("token", token), *query)
    )
    url = call.request.link().partition("?")[0]
    body = {
        "@odata.context": call.context(f"drives('{drive}')/root/delta"),
        f"@odata.{kind}": f"{url}?{text}",
        "value": records,
    }
    return ok(body)
