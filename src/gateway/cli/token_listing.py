"""Lists access tokens from the SQLite file, as `tokens.list_all` does from any database."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from gateway.auth.token_status import Status, status
from gateway.auth.token_views import view_of
from gateway.store import timestamps
from gateway.store.file_reader import FileReader

if TYPE_CHECKING:  # types alone, which take long to import
    from gateway.operations import views

# In the order of `_Token`.
_TOKENS = """
    SELECT id, name, key_id, operator_id, parent_id, settings, created_at, expires_at, revoked_at,
           last_used_at
    FROM access_tokens ORDER BY id
"""
_RESOURCES = "SELECT token_id, resource_id FROM token_resources ORDER BY resource_id"
_WITH_BLOCK_RULES = "SELECT DISTINCT token_id FROM collab_rules WHERE action = 'block'"


class _Token(NamedTuple):
    """The row of a token; its *settings* are an object, which is JSON in the table."""

    id: int
    name: str
    key_id: str
    operator_id: str
    parent_id: int | None
    settings: Mapping[str, Any]
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None


def list_all(
    reader: FileReader, *, wanted: Status | None = None
) -> "list[views.ManagedAccessToken]":
    """Return the tokens of a status, or all, by id."""
    tokens = {
        row[0]: _Token(*row)._replace(settings=orjson.loads(row[5])) for row in reader.rows(_TOKENS)
    }
    resource_ids: Mapping[int, list[int]] = defaultdict(list)
    for token_id, resource_id in reader.rows(_RESOURCES):
        resource_ids[token_id].append(resource_id)
    blocking = {token_id for (token_id,) in reader.rows(_WITH_BLOCK_RULES)}
    now = timestamps.now_ms()
    return [
        view_of(token, tuple(_ancestors(token, tokens)), resource_ids[token.id], blocking)
        for token in tokens.values()
        if wanted is None or status(token, now) is wanted
    ]


def _ancestors(token: _Token, tokens: Mapping[int, _Token]) -> Iterator[_Token]:
    """Yield the ancestors of *token*, its parent first."""
    while token.parent_id is not None:
        token = tokens[token.parent_id]
        yield token
