"""
The tables of the operator's side. Decisions 3, 4 and 5.9.

Moments are milliseconds (`gateway.store.timestamps`); ids of deleted rows are never given out
again. The schema is created by the migrations alone; a test compares them with these classes.
"""

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
)
from sqlmodel import Field, SQLModel

_AUTOINCREMENT = {"sqlite_autoincrement": True}


def _long() -> Any:
    return BigInteger().with_variant(Integer(), "sqlite")


def _key() -> Any:
    return Field(default=None, sa_column=Column(_long(), primary_key=True))


def _link(target: str, *, primary_key: bool = False, index: bool = False) -> Any:
    column = Column(
        _long(),
        ForeignKey(target, ondelete="CASCADE"),
        primary_key=primary_key,
        nullable=False,
        index=index,
    )
    return Field(sa_column=column)


def _moment(*, nullable: bool = False) -> Any:
    if nullable:
        return Field(default=None, sa_column=Column(BigInteger(), nullable=True))
    return Field(sa_column=Column(BigInteger(), nullable=False))


def _json() -> Any:
    return Field(sa_column=Column(JSON(), nullable=False))


class Operator(SQLModel, table=True):
    """Somebody whose accounts are connected; `id` is a UUID."""

    __tablename__ = "operators"

    id: str = Field(primary_key=True, max_length=36)
    email: str = Field(max_length=320)
    display_name: str = Field(max_length=200)
    created_at: int = _moment()


class Resource(SQLModel, table=True):
    """The container that connections hang on."""

    __tablename__ = "resources"
    __table_args__ = (_AUTOINCREMENT,)

    id: int | None = _key()
    name: str = Field(max_length=200)
    created_at: int = _moment()


class OperatorResource(SQLModel, table=True):
    __tablename__ = "operator_resources"

    operator_id: str = Field(
        foreign_key="operators.id", ondelete="CASCADE", primary_key=True, max_length=36
    )
    resource_id: int = _link("resources.id", primary_key=True, index=True)


class ConnectionRow(SQLModel, table=True):
    """
    One connected account.

    Attributes:
        credentials: Sealed JSON (`gateway.secrets.keyring`), bound to this row. None: nothing
        stored. base_url: The upstream's origin and path prefix; None means the deployment's own
            setting.
    """

    __tablename__ = "connections"
    __table_args__ = (_AUTOINCREMENT,)

    id: int | None = _key()
    resource_id: int = _link("resources.id", index=True)
    operator_id: str = Field(
        foreign_key="operators.id", ondelete="CASCADE", index=True, max_length=36
    )
    kind: str = Field(max_length=16)
    provider: str = Field(max_length=32)
    mode: str | None = Field(default=None, max_length=32)
    account_email: str = Field(max_length=320)
    granted_scopes: list[str] = _json()
    can_write: bool
    status: str = Field(max_length=16)
    status_detail: str | None = Field(default=None, max_length=500)
    base_url: str | None = Field(default=None, max_length=500)
    selected_site_ids: list[str] = _json()
    credentials: bytes | None = Field(default=None, sa_column=Column(LargeBinary(), nullable=True))
    last_ok_at: int | None = _moment(nullable=True)
    created_at: int = _moment()
    updated_at: int = _moment()


class AccessToken(SQLModel, table=True):
    """
    An access token; its text is not kept, only the SHA-256.

    Attributes:
        key_id: The first 8 characters after the prefix, for display.
        previous_digest, previous_until: The secret before the last rotation, while it is still
            accepted.
        settings: Decisions 3, the full object.
        operator_id: No foreign key: a revoked token outlives its operator.
        policy_rev: Raised by every change that can alter a decision.
    """

    __tablename__ = "access_tokens"
    __table_args__ = (_AUTOINCREMENT,)

    id: int | None = _key()
    name: str = Field(max_length=100)
    key_id: str = Field(max_length=8)
    digest: bytes = Field(sa_column=Column(LargeBinary(32), nullable=False, unique=True))
    previous_digest: bytes | None = Field(
        default=None, sa_column=Column(LargeBinary(32), nullable=True, unique=True)
    )
    previous_until: int | None = _moment(nullable=True)
    operator_id: str = Field(index=True, max_length=36)
    settings: dict[str, Any] = _json()
    policy_rev: int = Field(default=1)
    created_at: int = _moment()
    expires_at: int | None = _moment(nullable=True)
    revoked_at: int | None = _moment(nullable=True)
    last_used_at: int | None = _moment(nullable=True)


class TokenResource(SQLModel, table=True):
    __tablename__ = "token_resources"

    token_id: int = _link("access_tokens.id", primary_key=True)
    resource_id: int = _link("resources.id", primary_key=True, index=True)


class CollabRule(SQLModel, table=True):
    """A rule of a token; `pattern` is raw, already normalised. Decisions 4."""

    __tablename__ = "collab_rules"
    __table_args__ = (
        UniqueConstraint("token_id", "rule_type", "pattern", "action", name="uq_collab_rules_rule"),
        _AUTOINCREMENT,
    )

    id: int | None = _key()
    token_id: int = _link("access_tokens.id")
    rule_type: str = Field(max_length=32)
    pattern: str = Field(max_length=1024)
    action: str = Field(max_length=8)
    description: str | None = Field(default=None, max_length=500)
    source: str = Field(max_length=8)
    created_at: int = _moment()
    updated_at: int = _moment()


class RuleIntent(SQLModel, table=True):
    """
    Something that a token is about to make, and that needs an allow rule then. Decisions 4.

    Attributes:
        place: Where: `drive:folder` of a file or folder, `site:list` of a list item.
        trace: What it is known by afterwards (`providers.content.fingerprints`), sealed.
        lease_until: Until then whoever makes it is taken to be alive.
        look_at: When anybody may look what became of it: the end of the lease, later the next look.
        looks: How often somebody has looked.
    """

    __tablename__ = "rule_intents"
    __table_args__ = (_AUTOINCREMENT,)

    id: int | None = _key()
    token_id: int = _link("access_tokens.id")
    rule_type: str = Field(max_length=32)
    place: str = Field(max_length=2048)
    created_at: int = _moment()
    trace: str = Field(sa_column=Column(Text(), nullable=False))
    lease_until: int = _moment()
    look_at: int = Field(sa_column=Column(BigInteger(), nullable=False, index=True))
    looks: int = Field(default=0)


class IdempotencyRow(SQLModel, table=True):
    """
    The ledger of intents: one row per token, operation and idempotency key. Decisions 5.9.

    Attributes:
        fingerprint: SHA-256 over query and body.
        state: "running", "done" (the outcome is replayed) or "free" (the next call runs it again).
        seed: What Message-IDs are made from; the same for every try.
        attempt: Counts the tries, so that a try that was given up cannot close a later one.
        maybe_sent: Whether an earlier try may have reached the provider.
        lease_until: A running try that has not ended by then counts as crashed.
        outcome: Sealed status, headers and body of the answer; None until done.
        started_at: Of the first try; entries are dropped 24 hours later.
    """

    __tablename__ = "deliveries"
    __table_args__ = (
        UniqueConstraint("token_id", "method", "path", "key", name="uq_deliveries_key"),
        _AUTOINCREMENT,
    )

    id: int | None = _key()
    token_id: int = _link("access_tokens.id")
    method: str = Field(max_length=8)
    path: str = Field(max_length=2000)
    key: str = Field(max_length=255)
    fingerprint: bytes = Field(sa_column=Column(LargeBinary(32), nullable=False))
    state: str = Field(max_length=8)
    seed: str = Field(max_length=64)
    attempt: int
    maybe_sent: bool
    lease_until: int = _moment()
    outcome: bytes | None = Field(default=None, sa_column=Column(LargeBinary(), nullable=True))
    started_at: int = Field(sa_column=Column(BigInteger(), nullable=False, index=True))


class CalendarRow(SQLModel, table=True):
    """A calendar; its `id` is the `calendarId` of the API, for ever."""

    __tablename__ = "calendars"
    __table_args__ = (
        UniqueConstraint("connection_id", "native_id", name="uq_calendars_place"),
        _AUTOINCREMENT,
    )

    id: int | None = _key()
    connection_id: int = _link("connections.id")
    native_id: str = Field(max_length=1024)


class EventRow(SQLModel, table=True):
    """Where the event of an UUID is; the UUID is made of exactly this, so rows never change."""

    __tablename__ = "events"

    id: bytes = Field(sa_column=Column(LargeBinary(16), primary_key=True))
    calendar_id: int = _link("calendars.id", index=True)
    native_id: str = Field(max_length=1024)


class OAuthAttempt(SQLModel, table=True):
    """
    A consent under way; taken out when the person comes back, or does not in time.

    Attributes:
        id: Random; part of the sealed `state`.
        secret: Sealed JSON: the proof key and the redirect URI.
    """

    __tablename__ = "oauth_attempts"

    id: str = Field(primary_key=True, max_length=43)
    connection_id: int = _link("connections.id", index=True)
    secret: bytes = Field(sa_column=Column(LargeBinary(), nullable=False))
    expires_at: int = Field(sa_column=Column(BigInteger(), nullable=False, index=True))


class LeaseRow(SQLModel, table=True):
    """Something that one process at a time may do, until *until* at the longest."""

    __tablename__ = "leases"

    name: str = Field(primary_key=True, max_length=100)
    holder: str = Field(max_length=32)
    until: int = _moment()


class DecisionRow(SQLModel, table=True):
    """
    One call and what decided it; see `gateway.audit`. Rows outlive their tokens.

    Attributes:
        at: Of its end. The other members down to `upstream_status` are `Decision`'s.
        duration: Microseconds.
        chain, number: Whose row of which day this is; a row is stored once.
        signature: Over this row and the signature before it in its chain.
    """

    __tablename__ = "decisions"
    __table_args__ = (
        UniqueConstraint("chain", "number", name="uq_decisions_link"),
        Index("ix_decisions_token_id_at", "token_id", "at"),
        _AUTOINCREMENT,
    )

    id: int | None = _key()
    at: int = Field(sa_column=Column(BigInteger(), nullable=False, index=True))
    request_id: str = Field(index=True, max_length=128)
    token_id: int = Field(sa_column=Column(_long(), nullable=False))
    operator_id: str = Field(max_length=36)
    door: str = Field(max_length=8)
    surface: str | None = Field(default=None, max_length=16)
    operation: str | None = Field(default=None, max_length=64)
    resource_id: str | None = Field(default=None, max_length=1024)
    outcome: str = Field(max_length=8)
    layer: str | None = Field(default=None, max_length=32)
    code: str | None = Field(default=None, max_length=64)
    status: int
    rule_id: int | None = Field(default=None, sa_column=Column(_long(), nullable=True))
    policy_rev: int
    hidden_fields: int
    cost: int
    duration: int = Field(sa_column=Column(BigInteger(), nullable=False))
    upstream_calls: int
    upstream_status: int | None = None
    chain: str = Field(max_length=32)
    number: int = Field(sa_column=Column(BigInteger(), nullable=False))
    signature: str = Field(max_length=64)


METADATA = SQLModel.metadata
