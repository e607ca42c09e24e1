"""
Authentication: from an Authorization header to a Caller, once per request.

The token's row and its connections are read for every request, so a revocation takes effect at the
next request in every process; expiry and rotation are judged from the row each time. A Caller is
used again only while the read returns the very same rows, which ends with the next commit. The
compiled Grant and rules are cached by (token id, policy revision). A rule that the gateway adds for
a resource that the token created is added to the compiled rules, which are compiled anew after any
other change. See docs/spec/requests.md#authentication.

The rows of a child token's ancestors are read and judged like its own, so what narrows or revokes
one of them holds for the child at its next request (docs/spec/child-tokens.md#containment).
"""

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import msgspec
import orjson
from msgspec.structs import replace

from gateway.auth import token_format, token_validity
from gateway.auth.token_lookup import Row, RowReader
from gateway.store.timestamps import ClockMs, from_ms, now_ms
from policy.caller import MAX_ANCESTORS, NOTHING_ALLOWED, Caller, TokenPolicy, effective_policy
from policy.grants import Grant
from policy.refusals import Unauthenticated
from policy.rule_facts import Rule
from policy.rules import RuleSet
from policy.vocabulary import RuleAction, RuleType, UnauthorizedReason
from providers.bounded_map import BoundedMap
from providers.ports.connection import ConnectionInfo

_SCHEMES = (b"Bearer ", b"bearer ")  # the spellings of nearly all clients
_HEADER = re.compile(rb"bearer +(\S+)", re.IGNORECASE)
_MAX_COMPILED = 1024
_MAX_CONNECTIONS = 4096
_THREAD_SETTINGS = 8192  # bytes; longer ones, with many recipient patterns, are read in a thread
_THREAD_RULES = 10_000  # more are compiled in a thread, so that other requests go on
_LAST_USED_STEP = 60_000  # milliseconds: `lastUsedAt` is that coarse

# Lists are read as text, because one of the drivers would decode JSON, and a list is not hashable.
_CONNECTION = """
       c.id, c.resource_id, c.kind, c.provider, c.mode, c.account_email, c.can_write, c.status,
       c.base_url, CAST(c.selected_site_ids AS TEXT), CAST(c.granted_scopes AS TEXT)"""
# The connections that a token reaches: docs/spec/tokens.md#reach. A resource without any has one
# row with a null connection.
_REACH = """
  FROM access_tokens a
  LEFT JOIN token_resources t ON t.token_id = a.id
  LEFT JOIN operator_resources o
    ON o.operator_id = a.operator_id AND o.resource_id = t.resource_id
  LEFT JOIN connections c ON c.operator_id = o.operator_id AND c.resource_id = o.resource_id"""
_TOKEN_COLUMNS = 11  # before those of a connection
_PARENT = 9  # the column of the parent's id
_BY_DIGEST = f"""
SELECT a.id, a.name, a.key_id, a.digest, a.previous_until, a.operator_id, a.policy_rev,
       a.expires_at, a.revoked_at, a.parent_id, a.last_used_at,{_CONNECTION}{_REACH}
 WHERE a.digest = :digest OR a.previous_digest = :digest ORDER BY c.id
"""
_BY_ID = _BY_DIGEST.replace("a.digest = :digest OR a.previous_digest = :digest", "a.id = :id")
_SETTINGS = "SELECT settings, policy_rev, added_rules FROM access_tokens WHERE id = :id"
_RULES = "SELECT id, rule_type, pattern, action FROM collab_rules WHERE token_id = :id"
_ADDED_RULES = f"{_RULES} AND id > :last AND source = 'auto'"
_CONNECTIONS = f"""
SELECT {_CONNECTION}{_REACH}
 WHERE a.id = :id AND c.id IS NOT NULL ORDER BY c.id
"""

_RULE_TYPES: Mapping[str, RuleType] = MappingProxyType({kind.value: kind for kind in RuleType})
_ACTIONS: Mapping[str, RuleAction] = MappingProxyType({word.value: word for word in RuleAction})

Settings = Mapping[str, object]
ReconnectLinker = Callable[[ConnectionInfo], str | None]
UseRecorder = Callable[[int, int], None]


class _Compiled(TokenPolicy, frozen=True, kw_only=True):
    other_changes: int  # changes of the policy that did more than add an automatic rule
    last_rule: int | None  # the highest id of a rule in *rules*; None: they cannot be extended


class _KnownCaller(msgspec.Struct):
    """
    A caller, and the rows that it was built from.

    Attributes:
        ends: When one of the rows ends the token by itself, in milliseconds: by expiry, or by a
            rotation; None: none does.
        used: The last use that is stored or about to be, in milliseconds.
    """

    rows: Sequence[Row]
    caller: Caller
    ends: int | None
    used: int


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
        self._newest: BoundedMap[int, _Compiled] = BoundedMap(_MAX_COMPILED)  # by token
        self._callers: BoundedMap[bytes, _KnownCaller] = BoundedMap(_MAX_COMPILED)  # by digest
        # Equal rows make equal connections: the row is read every time, but decoded once.
        self._decoded = lru_cache(_MAX_CONNECTIONS)(self._connection)

    async def authenticate(self, headers: list[tuple[bytes, bytes]]) -> Caller:
        """
        Return the caller.

        Raises:
            Unauthenticated: The token is missing, unknown, revoked or expired, as the reason says.
            StorageUnavailable: The token could not be looked up.
        """
        digest = self._known_digest(headers) or read_bearer(headers, token_format.digest)
        rows = await self._reader.rows(_BY_DIGEST, {"digest": digest})
        known = self._callers.get(digest)
        if known is not None and known.rows is rows:
            now = self._clock()
            if (known.ends is None or now < known.ends) and now - known.used < _LAST_USED_STEP:
                return known.caller
        if not rows:
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        return await self._caller_of(rows, digest)

    async def authenticate_holder(self, token: int, key_id: str) -> Caller:
        """
        Return the caller of a token that the gateway itself vouches for, by a signed link.

        Raises:
            Unauthenticated: The token is gone, revoked or expired, or *key_id* is of the text that
                it had before a rotation.
            StorageUnavailable: The token could not be looked up.
        """
        rows = await self._reader.rows(_BY_ID, {"id": token})
        if not rows:
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        _, _, current_key_id, digest, *_ = rows[0]
        if current_key_id != key_id:
            raise Unauthenticated(UnauthorizedReason.REVOKED)
        return await self._caller_of(rows, bytes(digest))

    def _known_digest(self, headers: list[tuple[bytes, bytes]]) -> bytes | None:
        """Return the digest of a credential that was accepted before; else None."""
        credential = None
        for name, value in headers:
            if name == b"authorization":
                if credential is not None:
                    return None
                credential = value
        if credential is None or credential[:7] not in _SCHEMES:
            return None
        digest = hashlib.sha256(credential[7:]).digest()
        return digest if digest in self._callers else None

    async def _caller_of(self, rows: Sequence[Row], digest: bytes) -> Caller:
        now = self._clock()
        token = rows[0]
        ancestors = await self._ancestors(token[_PARENT]) if token[_PARENT] is not None else ()
        token_validity.require_alive(token, digest, now)
        for ancestor in ancestors:
            token_validity.require_unended(ancestor[0], now)
        known = self._callers.get(digest)
        if known is not None and known.rows is rows:
            caller = known.caller
        else:
            caller = await self._caller(rows, ancestors)
        used = token[_TOKEN_COLUMNS - 1]
        if used is None or now - used >= _LAST_USED_STEP:
            self._record_use(caller.token_id, used := now)
        if all(info.status != "needs_reauth" for info in caller.connections):  # links age
            ends = token_validity.end_of(rows, ancestors, digest)
            self._callers[digest] = _KnownCaller(rows, caller, ends, used)
        return caller

    async def _ancestors(self, parent: int | None) -> Sequence[Sequence[Row]]:
        """
        Return the rows of *parent*, of its parent and so on.

        Raises:
            Unauthenticated: One of them does not exist, or there are too many.
        """
        ancestors: list[Sequence[Row]] = []
        while parent is not None:
            rows = await self._reader.rows(_BY_ID, {"id": parent})
            if not rows or len(ancestors) == MAX_ANCESTORS:
                raise Unauthenticated(UnauthorizedReason.REVOKED)
            ancestors.append(rows)
            parent = rows[0][_PARENT]
        return ancestors

    async def _caller(self, rows: Sequence[Row], ancestors: Sequence[Sequence[Row]]) -> Caller:
        token, name, key_id, _, _, operator, rev, *_ = rows[0]
        policy = effective_policy(
            await self._policy(token, rev),
            [await self._policy(ancestor[0][0], ancestor[0][6]) for ancestor in ancestors],
        )
        ends = [row[0][7] for row in (rows, *ancestors) if row[0][7] is not None]
        reached = [_connection_ids(each) for each in ancestors]
        return Caller(
            token_id=token,
            token_name=name,
            key_id=key_id,
            expires_at=from_ms(min(ends)) if ends else None,
            policy_rev=rev,
            operator_id=operator,
            grant=policy.grant,
            settings=policy.settings,
            rules=policy.rules,
            narrowed=policy.narrowed,
            ancestors=policy.ancestors,
            ancestor_revs=tuple([each[0][6] for each in ancestors]),
            connections=tuple(
                [
                    self._with_reconnect_url(row[_TOKEN_COLUMNS:])
                    for row in rows
                    if row[_TOKEN_COLUMNS] is not None
                    and all(row[_TOKEN_COLUMNS] in ids for ids in reached)
                ]
            ),
        )

    async def connections_of(self, token: int) -> tuple[ConnectionInfo, ...]:
        """Return the connections that a token reaches, in any status, in ascending order of id."""
        rows = await self._reader.rows(_CONNECTIONS, {"id": token})
        return tuple([self._with_reconnect_url(row) for row in rows])

    async def rules_of(self, token: int) -> list[Rule] | None:
        """Return a token's rules; None when an unreadable one may be a block."""
        return _rules(await self._reader.rows(_RULES, {"id": token}))

    async def _policy(self, token: int, rev: int) -> "_Compiled":
        cached = self._compiled.get((token, rev))
        if cached is not None:
            self._compiled.move_to_end((token, rev))
            return cached
        rows = await self._reader.rows(_SETTINGS, {"id": token})
        if not rows:
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        settings, read_rev, added = _json(rows[0][0], {}), int(rows[0][1]), int(rows[0][2])
        # Read after the revision: rules may be newer than the cache key, never older.
        newest = self._newest.get(token)
        if newest is None or newest.other_changes != read_rev - added or newest.last_rule is None:
            policy = await self._compile(token, settings, other_changes=read_rev - added)
        else:
            values = {"id": token, "last": newest.last_rule}
            new_rules = await self._reader.rows(_ADDED_RULES, values)
            policy = replace(
                newest,
                rules=newest.rules.extended(_rules(new_rules) or ()),
                last_rule=max((row[0] for row in new_rules), default=newest.last_rule),
            )
        self._compiled[(token, read_rev)] = self._newest[token] = policy
        return policy

    async def _compile(self, token: int, settings: Settings, *, other_changes: int) -> "_Compiled":
        is_long = len(orjson.dumps(settings)) > _THREAD_SETTINGS
        grant = await asyncio.to_thread(Grant.read, settings) if is_long else Grant.read(settings)
        rows = await self._reader.rows(_RULES, {"id": token}) if grant.collab_enabled else ()

        def compiled() -> _Compiled:
            rules = _rules(rows)
            extensible = grant.collab_enabled and rules is not None
            return _Compiled(
                token_id=token,
                grant=grant,
                settings=settings,
                rules=compile_rules(grant, rules),
                other_changes=other_changes,
                last_rule=max((row[0] for row in rows), default=0) if extensible else None,
            )

        return await asyncio.to_thread(compiled) if len(rows) > _THREAD_RULES else compiled()

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


def _connection_ids(rows: Sequence[Row]) -> frozenset[int]:
    return frozenset(row[_TOKEN_COLUMNS] for row in rows)


def _rules(rows: Iterable[Row]) -> list[Rule] | None:
    """Decode rows of rules; None when an unreadable one may be a block."""
    rules = []
    for rule_id, rule_type, pattern, action in rows:
        if rule_type in _RULE_TYPES and action in _ACTIONS:
            rules.append(Rule(rule_id, _RULE_TYPES[rule_type], pattern, _ACTIONS[action]))
        elif action != RuleAction.ALLOW.value:
            return None
    return rules


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
    match = _HEADER.fullmatch(values[0]) if len(values) == 1 else None
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
