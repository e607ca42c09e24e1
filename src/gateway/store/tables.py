"""
The tables of the gateway.

Timestamps are milliseconds (`gateway.store.timestamps`); ids of deleted rows are never reused. Only
the migrations create the schema; a test compares them with these classes.
"""

from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from gateway.store import columns
from gateway.store.further_tables import DecisionSeal as DecisionSeal  # noqa: PLC0414
from gateway.store.further_tables import LeaseRow as LeaseRow  # noqa: PLC0414
from gateway.store.further_tables import SavedDocumentRow as SavedDocumentRow  # noqa: PLC0414
from gateway.store.sign_in_tables import OAuthClient as OAuthClient  # noqa: PLC0414

_AUTOINCREMENT = {"sqlite_autoincrement": True}


class Operator(columns.Row, table=True):
    """A person whose accounts are connected; `id` is a UUID."""

    __tablename__ = "operators"
    __table_args__ = (
        sa.Index("ix_operators_created_at_id", "created_at", "id"),
        columns.prefix_index("operators", "email"),
    )

    id: str = Field(primary_key=True, max_length=36)
    email: str = Field(max_length=320)
    display_name: str = Field(max_length=200)
    created_at: int = columns.timestamp()


class Resource(columns.Row, table=True):
    """A group of connections that tokens are granted access to."""

    __tablename__ = "resources"
    __table_args__ = (_AUTOINCREMENT,)

    id: int | None = columns.primary_key()
    name: str = Field(max_length=200)
    created_at: int = columns.timestamp()


class OperatorResource(columns.Row, table=True):
    __tablename__ = "operator_resources"

    operator_id: str = Field(
        foreign_key="operators.id", ondelete="CASCADE", primary_key=True, max_length=36
    )
    resource_id: int = columns.foreign_key("resources.id", primary_key=True, index=True)


class ConnectionRow(columns.Row, table=True):
    """
    One connected account.

    Attributes:
        credentials: Sealed JSON (`gateway.secrets.keyring`), bound to this row; None: not stored.
        base_url: The upstream's origin and path prefix; None means the deployment's setting.
        shared_on: The connection whose credentials it uses; None: it has its own. Not a foreign
            key, which SQLite adds to no table: `gateway.connections.shared` removes both.
        status_cause: `providers.catalogue.causes.Cause`.
        expires_at: When a person must renew the credentials; None: nothing tells.
    """

    __tablename__ = "connections"
    __table_args__ = (
        sa.Index("ix_connections_operator_id_resource_id", "operator_id", "resource_id"),
        sa.Index("ix_connections_status_id", "status", "id"),
        _AUTOINCREMENT,
    )

    id: int | None = columns.primary_key()
    resource_id: int = columns.foreign_key("resources.id", index=True)
    operator_id: str = Field(foreign_key="operators.id", ondelete="CASCADE", max_length=36)
    shared_on: int | None = columns.reference(index=True)
    kind: str = Field(max_length=16)
    provider: str = Field(max_length=32)
    mode: str | None = Field(default=None, max_length=32)
    account_email: str = Field(max_length=320)
    granted_scopes: list[str] = columns.json()
    can_write: bool
    status: str = Field(max_length=16)
    status_detail: str | None = Field(default=None, max_length=500)
    status_cause: str | None = Field(default=None, max_length=32)
    expires_at: int | None = columns.timestamp(nullable=True)
    base_url: str | None = Field(default=None, max_length=500)
    selected_site_ids: list[str] = columns.json()
    credentials: bytes | None = columns.optional_bytes()
    last_ok_at: int | None = columns.timestamp(nullable=True)
    created_at: int = columns.timestamp()
    updated_at: int = columns.timestamp()


class AccessToken(columns.Row, table=True):
    """
    An access token; only the SHA-256 of its text is stored.

    Attributes:
        key_id: The first 8 characters after the prefix, for display.
        previous_digest, previous_until: The secret before the last rotation, and until when it is
            accepted.
        settings: The full object of docs/spec/tokens.md#settings.
        operator_id: No foreign key: a revoked token outlives its operator.
        parent_id: The token from which it was made; None: an operator made it. Tokens stay.
        audience: The only path that accepts it, such as `/mcp`; None: every path does.
        policy_rev: Incremented by every change that can alter a decision.
        added_rules: How many of these changes added an automatic allow rule and did nothing else.
    """

    __tablename__ = "access_tokens"
    __table_args__ = (columns.prefix_index("access_tokens", "name"), _AUTOINCREMENT)

    id: int | None = columns.primary_key()
    name: str = Field(max_length=100)
    key_id: str = Field(max_length=8)
    digest: bytes = Field(sa_column=sa.Column(sa.LargeBinary(32), nullable=False, unique=True))
    previous_digest: bytes | None = Field(
        default=None, sa_column=sa.Column(sa.LargeBinary(32), nullable=True, unique=True)
    )
    previous_until: int | None = columns.timestamp(nullable=True)
    operator_id: str = Field(index=True, max_length=36)
    parent_id: int | None = columns.reference(index=True)
    audience: str | None = Field(default=None, max_length=64)
    settings: dict[str, Any] = columns.json()
    policy_rev: int = Field(default=1)
    added_rules: int = Field(
        default=0, sa_column=sa.Column(sa.Integer(), nullable=False, server_default="0")
    )
    created_at: int = columns.timestamp()
    expires_at: int | None = columns.timestamp(nullable=True)
    revoked_at: int | None = columns.timestamp(nullable=True)
    last_used_at: int | None = columns.timestamp(nullable=True)


class TokenResource(columns.Row, table=True):
    __tablename__ = "token_resources"

    token_id: int = columns.foreign_key("access_tokens.id", primary_key=True)
    resource_id: int = columns.foreign_key("resources.id", primary_key=True, index=True)


class CollabRule(columns.Row, table=True):
    """A rule of a token; `pattern` is normalized (docs/spec/rules.md#rule-object)."""

    __tablename__ = "collab_rules"
    __table_args__ = (
        sa.UniqueConstraint(
            "token_id", "rule_type", "pattern", "action", name="uq_collab_rules_rule"
        ),
        _AUTOINCREMENT,
    )

    id: int | None = columns.primary_key()
    token_id: int = columns.foreign_key("access_tokens.id")
    rule_type: str = Field(max_length=32)
    pattern: str = Field(max_length=1024)
    action: str = Field(max_length=8)
    description: str | None = Field(default=None, max_length=500)
    source: str = Field(max_length=8)
    created_at: int = columns.timestamp()
    updated_at: int = columns.timestamp()


class RuleIntent(columns.Row, table=True):
    """
    A resource that a token is about to create and that then needs an allow rule.

    Attributes:
        place: Its parent: `drive:folder` of a file or folder, `site:list` of a list item.
        trace: Its fingerprint (`providers.content.fingerprints`), sealed.
        lease_until: Until then the creating process counts as alive.
        look_at: When recovery may look for the resource: the end of the lease, later the next try.
        looks: How often recovery has looked.

    See docs/spec/rules.md#after-a-crash.
    """

    __tablename__ = "rule_intents"
    __table_args__ = (_AUTOINCREMENT,)

    id: int | None = columns.primary_key()
    token_id: int = columns.foreign_key("access_tokens.id")
    rule_type: str = Field(max_length=32)
    place: str = Field(max_length=2048)
    created_at: int = columns.timestamp()
    trace: str = Field(sa_column=sa.Column(sa.Text(), nullable=False))
    lease_until: int = columns.timestamp()
    look_at: int = Field(sa_column=sa.Column(sa.BigInteger(), nullable=False, index=True))
    looks: int = Field(default=0)


class IdempotencyRow(columns.Row, table=True):
    """
    A request with an `Idempotency-Key`: one row per token, operation and key.

    Attributes:
        fingerprint: SHA-256 over the arguments.
        state: "running", "done" (the outcome is replayed) or "free" (the next request runs it).
        seed: Message-IDs are derived from it; the same for every attempt.
        attempt: Number of attempts, so that an attempt that was taken over cannot end a later one.
        maybe_sent: Whether an earlier attempt may have reached the provider.
        lease_until: A running attempt that has not ended by then counts as crashed.
        outcome: Sealed status, headers and body of the response; None until done.
        draft: "connection:id" of the draft that the attempts send; None while there is none.
        started_at: Start of the first attempt; the row is deleted 24 hours later.
    """

    __tablename__ = "deliveries"
    __table_args__ = (
        sa.UniqueConstraint("token_id", "method", "path", "key", name="uq_deliveries_key"),
        _AUTOINCREMENT,
    )

    id: int | None = columns.primary_key()
    token_id: int = columns.foreign_key("access_tokens.id")
    method: str = Field(max_length=8)
    path: str = Field(max_length=2000)
    key: str = Field(max_length=255)
    fingerprint: bytes = Field(sa_column=sa.Column(sa.LargeBinary(32), nullable=False))
    state: str = Field(max_length=8)
    seed: str = Field(max_length=64)
    attempt: int
    maybe_sent: bool
    lease_until: int = columns.timestamp()
    outcome: bytes | None = columns.optional_bytes()
    draft: str | None = Field(default=None, sa_column=sa.Column(sa.Text(), nullable=True))
    started_at: int = Field(sa_column=sa.Column(sa.BigInteger(), nullable=False, index=True))


class UploadRow(columns.Row, table=True):
    """
    A file that a token uploaded to attach it to messages.

    Attributes:
        handle: Random; the id that clients know.
        description: Sealed name and media type.
        size: Bytes stored so far.
        is_complete: Whether all bytes have arrived.
    """

    __tablename__ = "uploads"
    __table_args__ = (sa.UniqueConstraint("handle", name="uq_uploads_handle"), _AUTOINCREMENT)

    id: int | None = columns.primary_key()
    token_id: int = columns.foreign_key("access_tokens.id", index=True)
    handle: str = Field(max_length=43)
    description: bytes = Field(sa_column=sa.Column(sa.LargeBinary(), nullable=False))
    size: int = Field(sa_column=sa.Column(sa.BigInteger(), nullable=False))
    is_complete: bool
    expires_at: int = Field(sa_column=sa.Column(sa.BigInteger(), nullable=False, index=True))


class UploadChunkRow(columns.Row, table=True):
    """Some of the bytes of an uploaded file, sealed; *number* counts from 0."""

    __tablename__ = "upload_chunks"

    upload_id: int = columns.foreign_key("uploads.id", primary_key=True)
    number: int = Field(primary_key=True)
    content: bytes = Field(sa_column=sa.Column(sa.LargeBinary(), nullable=False))


class CalendarRow(columns.Row, table=True):
    """A calendar; its `id` is the permanent `calendarId` of the API."""

    __tablename__ = "calendars"
    __table_args__ = (
        sa.UniqueConstraint("connection_id", "native_id", name="uq_calendars_place"),
        _AUTOINCREMENT,
    )

    id: int | None = columns.primary_key()
    connection_id: int = columns.foreign_key("connections.id")
    native_id: str = Field(max_length=1024)


class EventRow(columns.Row, table=True):
    """The key of an event; its UUID is computed from these values, so rows never change."""

    __tablename__ = "events"

    id: bytes = Field(sa_column=sa.Column(sa.LargeBinary(16), primary_key=True))
    calendar_id: int = columns.foreign_key("calendars.id", index=True)
    native_id: str = Field(max_length=1024)


class OAuthAttempt(columns.Row, table=True):
    """
    A pending OAuth consent; deleted when the person returns or when it expires.

    Attributes:
        id: Random; part of the sealed `state`.
        secret: Sealed JSON: the PKCE verifier and the redirect URI.
    """

    __tablename__ = "oauth_attempts"

    id: str = Field(primary_key=True, max_length=43)
    connection_id: int = columns.foreign_key("connections.id", index=True)
    secret: bytes = Field(sa_column=sa.Column(sa.LargeBinary(), nullable=False))
    expires_at: int = Field(sa_column=sa.Column(sa.BigInteger(), nullable=False, index=True))


class DeploymentRow(columns.Row, table=True):
    """The one row of this deployment: a random id, and a count of changes of documents."""

    __tablename__ = "deployment"

    id: str = Field(primary_key=True, max_length=32)
    documents_rev: int = Field(default=0, sa_column_kwargs={"server_default": "0"})


class DecisionRow(columns.Row, table=True):
    """
    One call and what decided it; see `gateway.audit`. Rows outlive their tokens.

    Attributes:
        at: End of the call. The members down to `dry_run` are those of `Decision`.
        duration: Microseconds.
        chain, number: Position in the chain of one process and day; unique.
        signature: Over this row and the previous signature of its chain.
    """

    __tablename__ = "decisions"
    __table_args__ = (
        sa.UniqueConstraint("chain", "number", name="uq_decisions_link"),
        sa.Index("ix_decisions_at_id", "at", "id"),
        *columns.filter_indexes("decisions", "token_id", "request_id", "outcome"),
        # Rows without a value are found by no filter.
        *columns.filter_indexes(
            "decisions", "surface", "operation", "layer", "code", "actor", partial=True
        ),
        _AUTOINCREMENT,
    )

    id: int | None = columns.primary_key()
    at: int = columns.timestamp()
    request_id: str = Field(max_length=128)
    token_id: int = Field(sa_column=sa.Column(columns.bigint(), nullable=False))
    operator_id: str = Field(max_length=36)
    door: str = Field(max_length=8)
    surface: str | None = Field(default=None, max_length=16)
    operation: str | None = Field(default=None, max_length=64)
    resource_id: str | None = Field(default=None, max_length=1024)
    outcome: str = Field(max_length=8)
    layer: str | None = Field(default=None, max_length=32)
    code: str | None = Field(default=None, max_length=64)
    status: int
    rule_id: int | None = columns.reference()
    policy_rev: int
    hidden_fields: int
    cost: int
    duration: int = Field(sa_column=sa.Column(sa.BigInteger(), nullable=False))
    upstream_calls: int
    upstream_status: int | None = None
    actor: str | None = Field(default=None, max_length=100)
    parent_id: int | None = columns.reference()
    dry_run: bool = Field(default=False, sa_column_kwargs={"server_default": sa.false()})
    chain: str = Field(max_length=32)
    number: int = Field(sa_column=sa.Column(sa.BigInteger(), nullable=False))
    signature: str = Field(max_length=64)


class ProviderErrorRow(columns.Row, table=True):
    """
    Answer of an upstream to a request that failed then; see `gateway.audit.provider_errors`.

    Attributes:
        connection_id: No foreign key: the row outlives the connection; None: no credentials.
        status: None: there was no answer.
        code: What the caller was told.
        reason: Sealed text of the answer.
    """

    __tablename__ = "provider_errors"
    __table_args__ = (_AUTOINCREMENT,)

    id: int | None = columns.primary_key()
    request_id: str = Field(index=True, max_length=128)
    at: int = Field(sa_column=sa.Column(sa.BigInteger(), nullable=False, index=True))
    connection_id: int | None = columns.reference()
    provider: str = Field(max_length=32)
    status: int | None = None
    code: str = Field(max_length=64)
    reason: str = Field(sa_column=sa.Column(sa.Text(), nullable=False))


METADATA = SQLModel.metadata
