"""
Authentication: from an Authorization header to a Caller, once per request.

The result is not cached: the token's row and its connections are read for every request, so a
revocation takes effect at the next request in every process. Only the compiled Grant and rules are
cached, by (token id, policy revision). See docs/spec/requests.md#authentication.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import orjson

from gateway.auth import token_format
from gateway.auth.token_lookup import Row, RowReader
from gateway.store.timestamps import ClockMs, from_ms, now_ms
from policy.caller import NOTHING_ALLOWED, Caller
from policy.grants import Grant
from policy.refusals import Unauthenticated
from policy.rule_facts import Rule
from policy.rules import RuleSet
from policy.vocabulary import RuleAction, RuleType, UnauthorizedReason
from providers.bounded_map import BoundedMap
from providers.ports.connection import ConnectionInfo

_HEADER = re.compile(rb"bearer +(\S+)", re.IGNORECASE)
_MAX_COMPILED = 1024
_MAX_CONNECTIONS = 4096
_LAST_USED_STEP = 60_000  # milliseconds: `lastUsedAt` is that coarse

_TOKEN_COLUMNS = 10  # before those of a connection
# One row per connection, or one with a null connection. Lists are read as text, because one of the
# drivers would decode JSON, and a list is not hashable.
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

_RULE_TYPES: Mapping[str, RuleType] = MappingProxyType({kind.value: kind for kind in RuleType})
_ACTIONS: Mapping[str, RuleAction] = MappingProxyType({word.value: word for word in RuleAction})

Settings = Mapping[str, object]
ReconnectLinker = Callable[[ConnectionInfo], str | None]
UseRecorder = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compiled:
    grant: Grant
    settings: Settings
    rules: RuleSet


class Authenticator:
    """Authenticates the bearer tokens of requests. One per process."""

    def __init__(
        self,
        reader: RowReader,
        *,
        base_url: Callable[[str, str], str],
        reconnect: ReconnectLinker = lambda _connection: None,
        record_use: UseRecorder = lambda _token, _now: None,
        clock: ClockMs = now_ms,
    ) -> None:
        """
        Build the authenticator.

        Args:
            reader: Reads the rows.
            base_url: (kind, provider) -> the deployment's base URL, for connections without one.
            reconnect: Returns the reconnect link of a connection, or None.
            record_use: Stores the last use of a token: (token id, milliseconds).
            clock: Milliseconds since the epoch.
        """
        self._reader = reader
        self._base_url = base_url
        self._reconnect = reconnect
        self._record_use = record_use
        self._clock = clock
        self._compiled: BoundedMap[tuple[int, int], _Compiled] = BoundedMap(_MAX_COMPILED)
        # Equal rows make equal connections: the row is read every time, but decoded once.
        self._decoded = lru_cache(_MAX_CONNECTIONS)(self._connection)

    async def authenticate(self, headers: list[tuple[bytes, bytes]]) -> Caller:
        """
        Return the caller.

        Raises:
            Unauthenticated: The token is missing, unknown, revoked or expired, as the reason says.
            StorageUnavailable: The token could not be looked up.
        """
        digest = read_bearer(headers, token_format.digest)
        rows = await self._reader.rows(_BY_DIGEST, {"digest": digest})
        if not rows:
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        connections = [row[_TOKEN_COLUMNS:] for row in rows if row[_TOKEN_COLUMNS] is not None]
        return await self._caller(rows[0][:_TOKEN_COLUMNS], connections, digest)

    async def _caller(self, row: Row, connections: Sequence[Row], digest: bytes) -> Caller:
        token, name, key_id, current, previous_until, operator, rev, expires, revoked, used = row
        now = self._clock()
        if revoked is not None:
            raise Unauthenticated(UnauthorizedReason.REVOKED)
        if bytes(current) != digest and (previous_until is None or previous_until <= now):
            raise Unauthenticated(UnauthorizedReason.REVOKED)  # replaced by a rotation
        if expires is not None and expires <= now:
            raise Unauthenticated(UnauthorizedReason.EXPIRED)
        policy = await self._policy(token, rev)
        if used is None or now - used >= _LAST_USED_STEP:
            self._record_use(token, now)
        return Caller(
            token_id=token,
            token_name=name,
            key_id=key_id,
            expires_at=None if expires is None else from_ms(expires),
            policy_rev=rev,
            operator_id=operator,
            grant=policy.grant,
            settings=policy.settings,
            rules=policy.rules,
            connections=tuple([self._with_reconnect_url(row) for row in connections]),
        )

    async def connections_of(self, token: int) -> tuple[ConnectionInfo, ...]:
        """Return every connection of a token's resources, in ascending order of id."""
        rows = await self._reader.rows(_CONNECTIONS, {"id": token})
        return tuple([self._with_reconnect_url(row) for row in rows])

    async def rules_of(self, token: int) -> list[Rule] | None:
        """Return a token's rules; None when an unreadable one may be a block."""
        rules = []
        for rule_id, rule_type, pattern, action in await self._reader.rows(_RULES, {"id": token}):
            if rule_type in _RULE_TYPES and action in _ACTIONS:
                rule = Rule(rule_id, _RULE_TYPES[rule_type], pattern, _ACTIONS[action])
                rules.append(rule)
            elif action != RuleAction.ALLOW.value:
                return None
        return rules

    async def _policy(self, token: int, rev: int) -> "_Compiled":
        cached = self._compiled.get((token, rev))
        if cached is not None:
            self._compiled.move_to_end((token, rev))
            return cached
        rows = await self._reader.rows(_SETTINGS, {"id": token})
        if not rows:
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        settings, read_rev = _json(rows[0][0], {}), int(rows[0][1])
        grant = Grant.read(settings)
        # Read after the revision: rules may be newer than the cache key, never older.
        rules = await self.rules_of(token) if grant.collab_enabled else None
        compiled = compile_rules(grant, rules)
        policy = _Compiled(grant=grant, settings=settings, rules=compiled)
        self._compiled[(token, read_rev)] = policy
        return policy

    def _with_reconnect_url(self, row: Row) -> ConnectionInfo:
        info = self._decoded(row)
        if info.status != "needs_reauth":
            return info
        return replace(info, reconnect_url=self._reconnect(info))

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
    """Compile the *rules* of a token with *grant*; unreadable ones (None) allow nothing."""
    if rules is None or not grant.collab_enabled:
        return NOTHING_ALLOWED
    return RuleSet.compile(rules, allow_by_default=grant.collab_allow_all)


def read_bearer(headers: list[tuple[bytes, bytes]], parse: Callable[[str], bytes | None]) -> bytes:
    """
    Return what *parse* makes of the bearer credential in *headers*.

    Raises:
        Unauthenticated: No header, not exactly one bearer credential, or *parse* returns None.
    """
    values = [value for name, value in headers if name == b"authorization"]
    if not values:
        raise Unauthenticated(UnauthorizedReason.MISSING_HEADER)
    match = _HEADER.fullmatch(values[0].strip(b" \t")) if len(values) == 1 else None
    if match is None:
        raise Unauthenticated(UnauthorizedReason.MALFORMED_HEADER)
    parsed = parse(match[1].decode("latin-1"))
    if parsed is None:
        raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
    return parsed


def _json(stored: Any, default: Any) -> Any:
    """Decode a JSON column as the driver returned it; *default* for unreadable values."""
    if not isinstance(stored, str | bytes):
        return default if stored is None else stored
    try:
        value = orjson.loads(stored)
    except orjson.JSONDecodeError:
        return default
    return value if isinstance(value, type(default)) else default
