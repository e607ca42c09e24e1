"""
From an Authorization header to a Caller, once per request. Decisions 2, step 2.

Nothing about the verdict is cached: the token's row and its connections are read every time, so a
revocation holds at the next request in every process. Only what is compiled, Grant and rules, is
kept, under (token id, policy revision).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Protocol

import orjson

from gateway.auth import token_format
from gateway.auth.token_lookup import Row, RowReader
from gateway.store.timestamps import from_ms, now_ms
from policy.caller import NOTHING_ALLOWED, Caller
from policy.grants import Grant
from policy.refusals import Unauthenticated
from policy.rules import Rule, RuleSet
from policy.vocabulary import RuleAction, RuleType, UnauthorizedReason
from providers.bounded_map import BoundedMap
from providers.ports.connection import ConnectionInfo

_HEADER = re.compile(rb"bearer +(\S+)", re.IGNORECASE)
_MAX_COMPILED = 1024
_MAX_CONNECTIONS = 4096
_LAST_USED_STEP = 60_000  # milliseconds: `lastUsedAt` is that coarse

_TOKEN = 10  # columns, before those of a connection
# A row per connection; one whose connection is all null when there is none. Lists are read as text,
# which both drivers give alike: one of them would decode JSON, and a list has no hash.
_BY_DIGEST = """
SELECT a.id, a.name, a.key_id, a.digest, a.previous_until, a.operator_id, a.policy_rev,
       a.expires_at, a.revoked_at, a.last_used_at,
       c.id, c.resource_id, c.kind, c.provider, c.mode, c.account_email, c.can_write, c.status,
       c.base_url, CAST(c.selected_site_ids AS TEXT), CAST(c.granted_scopes AS TEXT)
  FROM access_tokens a
  LEFT JOIN token_resources t ON t.token_id = a.id
  LEFT JOIN connections c ON c.resource_id = t.resource_id
 WHERE a.digest = :digest OR a.previous_digest = :digest ORDER BY c.id
"""
_SETTINGS = "SELECT settings, policy_rev FROM access_tokens WHERE id = :id"
_RULES = "SELECT id, rule_type, pattern, action FROM collab_rules WHERE token_id = :id"
_CONNECTIONS = """
SELECT c.id, c.resource_id, c.kind, c.provider, c.mode, c.account_email, c.can_write, c.status,
       c.base_url, CAST(c.selected_site_ids AS TEXT), CAST(c.granted_scopes AS TEXT)
  FROM token_resources t JOIN connections c ON c.resource_id = t.resource_id
 WHERE t.token_id = :id ORDER BY c.id
"""

_RULE_TYPES: Mapping[str, RuleType] = MappingProxyType({one.value: one for one in RuleType})
_ACTIONS: Mapping[str, RuleAction] = MappingProxyType({one.value: one for one in RuleAction})

Settings = Mapping[str, object]
UseRecorder = Callable[[int, int], None]


class Reconnect(Protocol):
    """Finds the link that a connection is reconnected by; see `reconnecting.ReconnectLinks.of`."""

    def __call__(
        self, connection_id: int, *, provider: str, mode: str | None, status: str
    ) -> str | None: ...


def _nowhere(connection_id: int, *, provider: str, mode: str | None, status: str) -> None:  # noqa: ARG001 - its shape
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compiled:
    grant: Grant
    settings: Settings
    rules: RuleSet


class Authenticator:
    """Knows tokens. One per process."""

    def __init__(
        self,
        lookup: RowReader,
        *,
        base_url: Callable[[str, str], str],
        reconnect: Reconnect = _nowhere,
        record_use: UseRecorder = lambda _token, _now: None,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        """
        Wire it up.

        Args:
            lookup: Where rows are read.
            base_url: (kind, provider) -> the deployment's upstream, for connections without one.
            reconnect: Finds the link of a connection that needs a person.
            record_use: Stores the last use of a token: (token id, milliseconds).
            clock: Milliseconds since the epoch.
        """
        self._lookup = lookup
        self._base_url = base_url
        self._reconnect = reconnect
        self._record_use = record_use
        self._clock = clock
        self._compiled: BoundedMap[tuple[int, int], _Compiled] = BoundedMap(_MAX_COMPILED)
        # Equal rows make equal connections: the row is read every time, but decoded once.
        self._decoded = lru_cache(_MAX_CONNECTIONS)(self._connection)

    async def authenticate(self, headers: list[tuple[bytes, bytes]]) -> Caller:
        """
        Find out who calls.

        Raises:
            Unauthenticated: No token, or not one that is alive; the reason says which.
            StorageUnavailable: The token could not be looked up, so nobody passes.
        """
        digest = _digest(headers)
        found = await self._lookup.rows(_BY_DIGEST, {"digest": digest})
        if not found:
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        connections = [row[_TOKEN:] for row in found if row[_TOKEN] is not None]
        return await self._caller(found[0][:_TOKEN], connections, digest)

    async def _caller(self, row: Row, connections: Sequence[Row], digest: bytes) -> Caller:
        token, name, key_id, current, previous_until, operator, rev, expires, revoked, used = row
        now = self._clock()
        if revoked is not None:
            raise Unauthenticated(UnauthorizedReason.REVOKED)
        if bytes(current) != digest and (previous_until is None or previous_until <= now):
            raise Unauthenticated(UnauthorizedReason.REVOKED)  # replaced by a rotation
        if expires is not None and expires <= now:
            raise Unauthenticated(UnauthorizedReason.EXPIRED)
        compile_rules = await self._policy(token, rev)
        if used is None or now - used >= _LAST_USED_STEP:
            self._record_use(token, now)
        return Caller(
            token_id=token,
            token_name=name,
            key_id=key_id,
            expires_at=None if expires is None else from_ms(expires),
            policy_rev=rev,
            operator_id=operator,
            grant=compile_rules.grant,
            settings=compile_rules.settings,
            rules=compile_rules.rules,
            connections=tuple([self._described(row) for row in connections]),
        )

    async def connections_of(self, token: int) -> tuple[ConnectionInfo, ...]:
        """Return every connection on a token's resources, lowest id first."""
        rows = await self._lookup.rows(_CONNECTIONS, {"id": token})
        return tuple([self._described(row) for row in rows])

    async def rules_of(self, token: int) -> list[Rule] | None:
        """Return a token's rules; None when one cannot be read that may be a block."""
        rules = []
        for rule_id, rule_type, pattern, action in await self._lookup.rows(_RULES, {"id": token}):
            if rule_type in _RULE_TYPES and action in _ACTIONS:
                read = (_RULE_TYPES[rule_type], pattern, _ACTIONS[action])
                rules.append(Rule(rule_id, *read))
            elif action != RuleAction.ALLOW.value:
                return None
        return rules

    async def _policy(self, token: int, rev: int) -> "_Compiled":
        kept = self._compiled.get((token, rev))
        if kept is not None:
            self._compiled.move_to_end((token, rev))
            return kept
        found = await self._lookup.rows(_SETTINGS, {"id": token})
        if not found:
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        settings, read_rev = _json(found[0][0], {}), int(found[0][1])
        grant = Grant.read(settings)
        # Read after the revision: rules may be newer than what they are kept under, never older.
        rules = await self._rules(token, grant)
        compile_rules = _Compiled(grant=grant, settings=settings, rules=rules)
        self._compiled[(token, read_rev)] = compile_rules
        return compile_rules

    async def _rules(self, token: int, grant: Grant) -> RuleSet:
        """Compile a token's rules."""
        rules = await self.rules_of(token) if grant.collab_enabled else None
        return compile_rules(grant, rules)

    def _described(self, row: Row) -> ConnectionInfo:
        info = self._decoded(row)
        if info.status != "needs_reauth":
            return info
        url = self._reconnect(info.id, provider=info.provider, mode=info.mode, status=info.status)
        return replace(info, reconnect_url=url)

    def _connection(self, row: Row) -> ConnectionInfo:
        return ConnectionInfo(
            id=row[0],
            resource_id=row[1],
            kind=row[2],
            provider=row[3],
            mode=row[4],
            account_email=row[5],
            can_write=bool(row[6]),
            status=row[7],
            base_url=row[8] or self._base_url(row[2], row[3]),
            selected_site_ids=tuple(_json(row[9], [])),
            granted_scopes=tuple(_json(row[10], [])),
        )


def compile_rules(grant: Grant, rules: Sequence[Rule] | None) -> RuleSet:
    """Compile the *rules* of a token with *grant*; those that cannot be read allow nothing."""
    if rules is None or not grant.collab_enabled:
        return NOTHING_ALLOWED
    return RuleSet.compile(rules, allow_by_default=grant.collab_allow_all)


def _digest(headers: list[tuple[bytes, bytes]]) -> bytes:
    return read_bearer(headers, token_format.digest)


def read_bearer(headers: list[tuple[bytes, bytes]], read: Callable[[str], bytes | None]) -> bytes:
    """
    Take the bearer credential out of *headers* and let *read* judge its text.

    Raises:
        Unauthenticated: No header, not exactly one bearer credential, or *read* does not know it.
    """
    values = [value for name, value in headers if name == b"authorization"]
    if not values:
        raise Unauthenticated(UnauthorizedReason.MISSING_HEADER)
    form = _HEADER.fullmatch(values[0].strip(b" \t")) if len(values) == 1 else None
    if form is None:
        raise Unauthenticated(UnauthorizedReason.MALFORMED_HEADER)
    known = read(form[1].decode("latin-1"))
    if known is None:
        raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
    return known


def _json(stored: Any, otherwise: Any) -> Any:
    """Decode a JSON column as the driver gave it; what cannot be read is *otherwise*."""
    if not isinstance(stored, str | bytes):
        return otherwise if stored is None else stored
    try:
        value = orjson.loads(stored)
    except orjson.JSONDecodeError:
        return otherwise
    return value if isinstance(value, type(otherwise)) else otherwise
