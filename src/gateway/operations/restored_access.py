"""
The access that a restore would bring back: tokens and connections wider in the copy than now.

Both sides are read as plain rows, because a copy may be of an older schema version. See
docs/spec/management.md#restore.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypedDict

import orjson

from gateway.store.backups import Rows
from policy.containment import meet, widened_settings
from policy.grants import Grant

# Tables that decide access; `access_of` reads their rows.
TABLES = ("access_tokens", "token_resources", "collab_rules", "operator_resources", "connections")


_RuleOfToken = tuple[int, str, str]  # token, rule type and pattern


class WiderAccess(TypedDict):
    """A token or connection that allows more after the restore; `reasons` are phrases."""

    kind: str  # "token" or "connection"
    id: int
    name: str
    reasons: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    name: str
    operator: str
    usable_until: float  # milliseconds; -1 when revoked
    secrets: frozenset[str]  # digests that are accepted
    grant: Grant
    resources: frozenset[int]
    allowed: frozenset[_RuleOfToken]
    blocked: frozenset[_RuleOfToken]
    parent: int | None

    def below(self, parent: "_Token | None") -> "_Token":
        """Return this token as *parent* narrows it; None: it has lost its parent."""
        if parent is None:
            return replace(self, usable_until=-1)
        return replace(
            self,
            usable_until=min(self.usable_until, parent.usable_until),
            grant=meet(self.grant, [parent.grant]),
            resources=self.resources & parent.resources,
            allowed=self.allowed | parent.allowed,
            blocked=self.blocked | parent.blocked,
        )


class _Connection(NamedTuple):
    account: str
    operator: str
    resource: int
    base: int | None  # whose credentials it uses; None: it has its own
    writes: bool
    is_disabled: bool
    sites: frozenset[str]  # of the mode `selected_sites`


@dataclass(frozen=True, slots=True)
class Access:
    """The tokens and connections of one state of the store, by id."""

    tokens: Mapping[int, _Token]
    connections: Mapping[int, "_Connection"]
    links: frozenset[tuple[str, int]]  # operator and resource


def access_of(rows: Rows, now: int) -> Access:
    """Read the access that *rows* of `TABLES` give at *now*, in milliseconds."""
    resources: dict[int, set[int]] = {}
    for row in rows["token_resources"]:
        resources.setdefault(int(row["token_id"]), set()).add(int(row["resource_id"]))
    rules: dict[tuple[int, str], set[_RuleOfToken]] = {}
    for row in rows["collab_rules"]:
        owner = int(row["token_id"])
        listed = rules.setdefault((owner, row["action"]), set())
        listed.add((owner, row["rule_type"], row["pattern"]))
    tokens = {
        (token_id := int(row["id"])): _Token(
            name=row["name"],
            operator=row["operator_id"],
            usable_until=_usable_until(row),
            secrets=frozenset(_accepted_digests(row, now)),
            grant=Grant.read(dict(_json(row["settings"]))),
            resources=frozenset(resources.get(token_id, ())),
            allowed=frozenset(rules.get((token_id, "allow"), ())),
            blocked=frozenset(rules.get((token_id, "block"), ())),
            parent=None if row.get("parent_id") is None else int(row["parent_id"]),
        )
        for row in rows["access_tokens"]
    }
    for token_id, token in sorted(tokens.items()):  # a parent is older than its children
        if token.parent is not None:
            tokens[token_id] = token.below(tokens.get(token.parent))
    connections = {
        int(row["id"]): _Connection(
            row["account_email"],
            row["operator_id"],
            int(row["resource_id"]),
            base=None if row.get("shared_on") is None else int(row["shared_on"]),
            writes=row["can_write"] in (True, 1, "t", "1"),
            is_disabled=row["status"] == "disabled",
            sites=frozenset(_json(row["selected_site_ids"])),
        )
        for row in rows["connections"]
    }
    links = {(row["operator_id"], int(row["resource_id"])) for row in rows["operator_resources"]}
    return Access(tokens, connections, frozenset(links))


def wider_access(before: Access, after: Access, now: int) -> list[WiderAccess]:
    """List what allows more in *after* than in *before*: tokens, then connections, by id."""
    tokens = (
        WiderAccess(kind="token", id=token_id, name=token.name, reasons=reasons)
        for token_id, token in sorted(after.tokens.items())
        if token.usable_until > now
        and (reasons := list(_token_reasons(before, after, token_id, token, now)))
    )
    connections = (
        WiderAccess(kind="connection", id=connection_id, name=connection.account, reasons=reasons)
        for connection_id, connection in sorted(after.connections.items())
        if (reasons := list(_connection_reasons(before.connections.get(connection_id), connection)))
    )
    return [*tokens, *connections]


def _token_reasons(
    before: Access, after: Access, token_id: int, token: _Token, now: int
) -> Iterator[str]:
    present = before.tokens.get(token_id)
    if present is None:
        yield "it does not exist now"
        return
    if present.usable_until < 0:
        yield "it is revoked now"
    elif present.usable_until <= now:
        yield "it has expired now"
    elif token.usable_until > present.usable_until:
        yield "it expires later"
    if token.secrets - present.secrets:
        yield "a token text that is replaced now is valid again"
    if token.operator != present.operator:
        yield "its operator is another one"
    if settings := widened_settings(present.grant, token.grant):
        yield f"settings allow more: {', '.join(settings)}"
    if resources := _reach(after, token) - _reach(before, present):
        yield f"it reaches more resources: {', '.join(map(str, sorted(resources)))}"
    if rules := len(token.allowed - present.allowed) + len(present.blocked - token.blocked):
        yield f"collab rules allow more: {rules}"


def _reach(access: Access, token: _Token) -> set[int]:
    return {item for item in token.resources if (token.operator, item) in access.links}


def _connection_reasons(present: _Connection | None, connection: _Connection) -> Iterator[str]:
    if present is None:
        yield "it does not exist now"
        return
    if connection[:3] != present[:3]:
        yield "its account, operator or resource is another one"
    if connection.base != present.base:
        yield "it uses other credentials"
    if connection.writes and not present.writes:
        yield "it may write"
    if present.is_disabled and not connection.is_disabled:
        yield "it is disabled now"
    if sites := len(connection.sites - present.sites):
        yield f"it reaches more sites: {sites}"


def _usable_until(row: Mapping[str, Any]) -> float:
    if row["revoked_at"] is not None:
        return -1
    return float("inf") if row["expires_at"] is None else float(row["expires_at"])


def _accepted_digests(row: Mapping[str, Any], now: int) -> Iterator[str]:
    yield _hex(row["digest"])
    until = row.get("previous_until")
    if until is not None and int(until) > now:
        yield _hex(row["previous_digest"])


def _hex(stored: Any) -> str:
    """Return a digest as hexadecimal digits, without the prefix of PostgreSQL's copies."""
    return stored.removeprefix("\\x") if isinstance(stored, str) else bytes(stored).hex()


def _json(stored: Any) -> Any:
    return orjson.loads(stored) if isinstance(stored, str | bytes) else stored


def phrases(wider: Sequence[WiderAccess]) -> list[str]:
    """Write one line for each entry."""
    return [
        f"{entry['kind']} {entry['id']} ({entry['name']}): {'; '.join(entry['reasons'])}"
        for entry in wider
    ]
