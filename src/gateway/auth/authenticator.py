"""
Authentication: from an Authorization header to a Caller, once per request.

One query reads the token's row, its ancestors' and the connections that they reach, for every
request, so a revocation takes effect at the next request in every process; expiry and rotation are
judged from the row each time. A Caller is used again while the read returns equal rows. The
compiled Grant and rules are cached by token and policy revision. A rule that the gateway adds for
a resource that the token created is added to the compiled rules, which are compiled anew after any
other change. See docs/spec/requests.md#authentication.

The rows of a child token's ancestors are judged like its own, so what narrows or revokes one of
them holds for the child at its next request (docs/spec/child-tokens.md#containment).
"""

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import msgspec
import orjson
from msgspec.structs import replace

from gateway.auth import token_format, token_validity
from gateway.auth import token_queries as queries
from gateway.auth.token_lookup import Row, RowReader, SealedStarts, begin_request
from gateway.store.timestamps import LAST_USE_MS, ClockMs, from_ms, now_ms
from policy.caller import NOTHING_ALLOWED, Caller, EffectivePolicy, TokenPolicy, effective_policy
from policy.grants import Grant
from policy.refusals import Unauthenticated
from policy.rule_facts import Rule
from policy.rules import RuleSet
from policy.vocabulary import RuleAction, RuleType, UnauthorizedReason
from providers.bounded_map import ByteBoundedMap
from providers.catalogue import causes
from providers.ports.connection import ConnectionInfo

_SCHEMES = (b"Bearer ", b"bearer ")  # the spellings of nearly all clients
_HEADER = re.compile(rb"bearer +(\S+)", re.IGNORECASE)
_CALLERS_BYTES = 320 * 1024 * 1024  # about 100,000 tokens; others are built from the rows read
_POLICIES_BYTES = 256 * 1024 * 1024  # about 250,000 tokens without rules, or 280,000 rules
# Measured sizes of what is kept, in bytes.
_CALLER_BYTES, _CONNECTION_BYTES, _POLICY_BYTES, _RULE_BYTES = 2000, 1000, 1000, 900
_MAX_DECODED = 4096
_THREAD_SETTINGS = 8192  # bytes; longer ones, with many recipient patterns, are read in a thread
_THREAD_RULES = 10_000  # more are compiled in a thread, so that other requests go on

_RULE_TYPES: Mapping[str, RuleType] = MappingProxyType({kind.value: kind for kind in RuleType})
_ACTIONS: Mapping[str, RuleAction] = MappingProxyType({word.value: word for word in RuleAction})

Settings = Mapping[str, object]
ReconnectLinker = Callable[[ConnectionInfo], str | None]
UseRecorder = Callable[[int, int], None]


class _Compiled(TokenPolicy, frozen=True, kw_only=True):
    rules_read: int
    other_changes: int  # changes of the policy that did more than add an automatic rule
    last_rule: int | None  # the highest id of a rule in *rules*; None: they cannot be extended


class _KnownCaller(msgspec.Struct):
    """
    A caller, and the rows that it was built from.

    Attributes:
        ends: When one of the rows ends the token by itself, in milliseconds: by expiry, or by a
            rotation; None: none does.
        due: When one of its connections gets a reconnect link, in milliseconds; None: never.
        used: The last use that is stored or about to be, in milliseconds; 0: not known.
    """

    rows: Sequence[Row]
    caller: Caller
    sealed: SealedStarts
    ends: int | None
    due: int | None
    used: int = 0


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
        # By token, with the revision that was compiled.
        self._policies: ByteBoundedMap[int, tuple[int, _Compiled]] = ByteBoundedMap(_POLICIES_BYTES)
        self._callers: ByteBoundedMap[bytes, _KnownCaller] = ByteBoundedMap(_CALLERS_BYTES)
        # Equal rows make equal connections: the row is read every time, but decoded once.
        self._decoded = lru_cache(_MAX_DECODED)(self._connection)

    async def authenticate(
        self, headers: list[tuple[bytes, bytes]], *, path: str | None = None
    ) -> Caller:
        """
        Return the caller of *path*; None: of any, whatever the audience of the token.

        Raises:
            Unauthenticated: The token is missing, unknown, revoked, expired or granted for another
                path, as the reason says.
            StorageUnavailable: The token could not be looked up.
        """
        digest = self._known_digest(headers) or read_bearer(headers, token_format.digest)
        rows = await self._reader.rows(queries.BY_DIGEST, {"digest": digest})
        if not rows:
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        caller = await self._caller_of(rows, digest)
        if path is not None and caller.audience not in (None, path):
            raise Unauthenticated(UnauthorizedReason.WRONG_AUDIENCE)
        return caller

    async def authenticate_holder(self, token: int, key_id: str | None = None) -> Caller:
        """
        Return the caller of a token that the gateway itself vouches for.

        *key_id* is that of a signed link; None: a person has released a write of the token.

        Raises:
            Unauthenticated: The token is gone, revoked or expired, or *key_id* is of the text that
                it had before a rotation.
            StorageUnavailable: The token could not be looked up.
        """
        rows = await self._reader.rows(queries.BY_ID, {"id": token})
        if not rows:
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        _, _, current_key_id, digest, *_ = rows[0]
        if key_id not in (None, current_key_id):
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
        known = self._callers.get(digest)
        is_current = known is not None and (known.due is None or now < known.due)
        if known is not None and is_current and (known.rows is rows or known.rows == rows):
            known.rows = rows
            if known.ends is not None and now >= known.ends:
                _require_alive(_by_token(rows), digest, now)
        else:
            known = await self._know(rows, digest, now)
        if now - known.used >= LAST_USE_MS:
            known.used = now
            self._record_use(known.caller.token_id, now)
        begin_request(known.sealed)
        return known.caller

    async def _know(self, rows: Sequence[Row], digest: bytes, now: int) -> _KnownCaller:
        """Build the caller of a token that is alive, and keep it."""
        tokens = _by_token(rows)
        _require_alive(tokens, digest, now)
        policies = [await self._policy(each[0][0], each[0][6]) for each in tokens]
        caller = self._caller(tokens, effective_policy(policies[0], policies[1:]))
        sealed = {
            row[queries.SHARED_ON] or row[queries.TOKEN_COLUMNS]: row[queries.SEALED]
            for row in tokens[0]
        }
        ends = token_validity.end_of(tokens[0], tokens[1:], digest)
        due = _links_due(caller)
        known = _KnownCaller(rows, caller, sealed, ends, due)
        if due is None or now < due:  # links age
            rules = sum(policy.rules_read for policy in policies)
            size = _CALLER_BYTES + _CONNECTION_BYTES * len(rows) + _RULE_BYTES * rules
            self._callers.put(digest, known, size)
        return known

    def _caller(self, tokens: Sequence[Sequence[Row]], policy: EffectivePolicy) -> Caller:
        rows, *ancestors = tokens
        token, name, key_id, _, _, operator, rev, *_ = rows[0]
        ends = [each[0][7] for each in tokens if each[0][7] is not None]
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
            audience=next(filter(None, (each[0][queries.AUDIENCE] for each in tokens)), None),
            connections=tuple(
                [
                    self._with_reconnect_url(row[queries.TOKEN_COLUMNS : queries.SEALED])
                    for row in rows
                    if row[queries.TOKEN_COLUMNS] is not None
                    and all(row[queries.TOKEN_COLUMNS] in ids for ids in reached)
                ]
            ),
        )

    async def connections_of(self, token: int) -> tuple[ConnectionInfo, ...]:
        """Return the connections that a token reaches, in any status, in ascending order of id."""
        rows = await self._reader.rows(queries.CONNECTIONS, {"id": token})
        return tuple([self._with_reconnect_url(row) for row in rows])

    async def rules_of(self, token: int) -> list[Rule] | None:
        """Return a token's rules; None when an unreadable one may be a block."""
        return _rules(await self._reader.rows(queries.RULES, {"id": token}))

    async def _policy(self, token: int, rev: int) -> "_Compiled":
        compiled_rev, newest = self._policies.get(token) or (0, None)
        if newest is not None and compiled_rev == rev:
            return newest
        rows = await self._reader.rows(queries.SETTINGS, {"id": token})
        if not rows:
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        (stored, read_rev, added) = rows[0]
        # Read after the revision: rules may be newer than the cache key, never older.
        if newest is None or newest.other_changes != read_rev - added or newest.last_rule is None:
            policy = await self._compile(token, stored, other_changes=read_rev - added)
        else:
            values = {"id": token, "last": newest.last_rule}
            new_rules = await self._reader.rows(queries.ADDED_RULES, values)
            policy = replace(
                newest,
                rules=newest.rules.extended(_rules(new_rules) or ()),
                rules_read=newest.rules_read + len(new_rules),
                last_rule=max((row[0] for row in new_rules), default=newest.last_rule),
            )
        size = _POLICY_BYTES + _RULE_BYTES * policy.rules_read + len(stored) * 4
        self._policies.put(token, (read_rev, policy), size)
        return policy

    async def _compile(self, token: int, stored: str, *, other_changes: int) -> "_Compiled":
        if len(stored) > _THREAD_SETTINGS:  # and not shared with other tokens
            settings, grant = await asyncio.to_thread(_granted.__wrapped__, stored)
        else:
            settings, grant = _granted(stored)
        rows = await self._reader.rows(queries.RULES, {"id": token}) if grant.collab_enabled else ()

        def compiled() -> _Compiled:
            rules = _rules(rows)
            extensible = grant.collab_enabled and rules is not None
            return _Compiled(
                token_id=token,
                grant=grant,
                settings=settings,
                rules=compile_rules(grant, rules),
                rules_read=len(rows),
                other_changes=other_changes,
                last_rule=max((row[0] for row in rows), default=0) if extensible else None,
            )

        return await asyncio.to_thread(compiled) if len(rows) > _THREAD_RULES else compiled()

    def _with_reconnect_url(self, row: Row) -> ConnectionInfo:
        info = self._decoded(row)
        due = causes.renewal_due(info.status, info.expires_at)
        if due is None or self._clock() < due:
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
            shared_on=row[11],
            cause=row[12],
            expires_at=row[13],
        )


@lru_cache(_MAX_DECODED)
def _granted(stored: str) -> tuple[Settings, Grant]:
    """Return stored settings and their grant: one object for all tokens with equal settings."""
    settings = _json(stored, {})
    return settings, Grant.read(settings)


def _by_token(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of the token, of its parent and so on."""
    return [list(group) for _, group in groupby(rows, key=itemgetter(queries.DEPTH))]


def _require_alive(tokens: Sequence[Sequence[Row]], digest: bytes, now: int) -> None:
    """
    Check a token and its ancestors; see `token_validity`.

    Raises:
        Unauthenticated: One of them is at its end or does not exist, or there are too many.
    """
    if tokens[-1][0][queries.PARENT] is not None:
        raise Unauthenticated(UnauthorizedReason.REVOKED)
    token_validity.require_alive(tokens[0][0], digest, now)
    for ancestor in tokens[1:]:
        token_validity.require_unended(ancestor[0], now)


def _links_due(caller: Caller) -> int | None:
    """Return from when on a connection of *caller* has a reconnect link; None: none has."""
    due = (causes.renewal_due(info.status, info.expires_at) for info in caller.connections)
    return min((moment for moment in due if moment is not None), default=None)


def _connection_ids(rows: Sequence[Row]) -> frozenset[int]:
    return frozenset(row[queries.TOKEN_COLUMNS] for row in rows)


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
