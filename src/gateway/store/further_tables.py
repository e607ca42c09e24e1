"""The tables of saved documents, decision chains, leases, held writes, webhooks and feeds."""

import sqlalchemy as sa
from sqlmodel import Field

from gateway.store import columns


class SavedDocumentRow(columns.Row, table=True):
    """
    A saved document (docs/spec/saved-documents.md).

    Attributes:
        route: The path with empty parameter names; with the method unique.
        digest: SHA-256 of the text, in hexadecimal digits.
    """

    __tablename__ = "saved_documents"
    __table_args__ = (
        sa.UniqueConstraint("name", name="uq_saved_documents_name"),
        sa.UniqueConstraint("method", "route", name="uq_saved_documents_route"),
        {"sqlite_autoincrement": True},
    )

    id: int | None = columns.primary_key()
    name: str = Field(max_length=63)
    method: str = Field(max_length=8)
    path: str = Field(max_length=200)
    route: str = Field(max_length=200)
    status: int
    text: str = Field(sa_column=sa.Column(sa.Text(), nullable=False))
    digest: str = Field(max_length=64)
    description: str | None = Field(default=None, max_length=500)
    created_at: int = columns.timestamp()
    updated_at: int = columns.timestamp()


class DecisionHead(columns.Row, table=True):
    """
    The signed end of a chain of decisions; see `gateway.audit.heads`.

    Attributes:
        number: Of its last row.
        digest: The signature of that row.
    """

    __tablename__ = "decision_heads"

    chain: str = Field(primary_key=True, max_length=32)
    number: int = Field(sa_column=sa.Column(sa.BigInteger(), nullable=False))
    digest: str = Field(max_length=64)
    signature: str = Field(max_length=64)


class DecisionSeal(columns.Row, table=True):
    """Signature over the rows *first* to *last* of a chain, and their faults; `audit.seals`."""

    __tablename__ = "decision_seals"

    chain: str = Field(primary_key=True, max_length=32)
    first: int = Field(sa_column=sa.Column(sa.BigInteger(), primary_key=True, autoincrement=False))
    last: int = Field(sa_column=sa.Column(sa.BigInteger(), nullable=False))
    digest: str = Field(max_length=64)
    faults: list[tuple[int, str]] = columns.json()
    sealed_at: int = columns.timestamp()
    signature: str = Field(max_length=64)


class LeaseRow(columns.Row, table=True):
    """A lock that *holder* has until *until* at the latest."""

    __tablename__ = "leases"

    name: str = Field(primary_key=True, max_length=100)
    holder: str = Field(max_length=32)
    until: int = columns.timestamp()


class HeldWriteRow(columns.Row, table=True):
    """
    A write that waits for a person, or did so lately (docs/spec/held-writes.md).

    Attributes:
        id: Random.
        origin: Names the attempt under an `Idempotency-Key` that asked for it; None without a key.
        operation: The mutation.
        operator_id: Of the token that asked.
        connection_id: Of the account that would write; None if it is not known.
        content: The call, its effect and what it is released with, sealed; see `requests`.
        outcome: The response of the call that ran, sealed; None before.
        reason: Why it ended without being done: a sentence without content.
        decided_by: Who released or rejected it.
        started_at: When its run began first.
    """

    __tablename__ = "held_writes"
    __table_args__ = (
        sa.Index("ix_held_writes_state_expires_at", "state", "expires_at"),
        sa.Index("ix_held_writes_token_id_state", "token_id", "state"),
        sa.Index("ix_held_writes_created_at_id", "created_at", "id"),
        sa.Index("ix_held_writes_state_created_at_id", "state", "created_at", "id"),
        sa.Index("ix_held_writes_ended_at", "ended_at"),
    )

    id: str = Field(primary_key=True, max_length=22)
    token_id: int = columns.foreign_key("access_tokens.id")
    operator_id: str = Field(max_length=36)
    origin: str | None = Field(
        default=None, sa_column=sa.Column(sa.String(64), nullable=True, unique=True)
    )
    operation: str = Field(max_length=64)
    connection_id: int | None = columns.reference()
    state: str = Field(max_length=10)
    content: bytes = Field(sa_column=sa.Column(sa.LargeBinary(), nullable=False))
    outcome: bytes | None = Field(
        default=None, sa_column=sa.Column(sa.LargeBinary(), nullable=True)
    )
    reason: str | None = Field(default=None, max_length=300)
    decided_by: str | None = Field(default=None, max_length=100)
    created_at: int = columns.timestamp()
    expires_at: int = columns.timestamp()
    started_at: int | None = columns.timestamp(nullable=True)
    ended_at: int | None = columns.timestamp(nullable=True)


class FeedStateRow(columns.Row, table=True):
    """
    A state of a feed of changes (docs/spec/changes.md#cursors).

    Attributes:
        id: Random.
        feed: Random, the same in all states of a feed.
        content: Sealed; see `graph.changes.state`.
        used_at: When the feed was used, to a day.
    """

    __tablename__ = "feed_states"
    __table_args__ = (
        sa.Index("ix_feed_states_token_id", "token_id"),
        sa.Index("ix_feed_states_feed_created_at", "feed", "created_at"),
        sa.Index("ix_feed_states_used_at", "used_at"),
    )

    id: str = Field(primary_key=True, max_length=16)
    token_id: int = columns.foreign_key("access_tokens.id")
    feed: str = Field(max_length=16)
    content: bytes = Field(sa_column=sa.Column(sa.LargeBinary(), nullable=False))
    created_at: int = columns.timestamp()
    used_at: int = columns.timestamp()


class FeedSubscription(columns.Row, table=True):
    """
    A target of wake-ups that is called when a feed has rows (docs/spec/changes.md#subscriptions).

    Attributes:
        id: That of the target, with which the row is deleted.
        position: The state of a feed of its own up to which the gateway has looked.
        start: The state that calls name: at *position* or before it. Both are kept.
        is_pulled: Whether the holder has gone on from *start*; until then it stays the same.
        due_at: When to look next; while a process looks, when another one may.
        failures: Looks in a row that failed.
        surfaces: What its feed follows, joined by commas.
    """

    __tablename__ = "feed_subscriptions"
    __table_args__ = (
        sa.Index("ix_feed_subscriptions_token_id", "token_id"),
        sa.Index("ix_feed_subscriptions_due_at", "due_at"),
    )

    id: str = Field(
        sa_column=sa.Column(
            sa.String(16), sa.ForeignKey("webhook_targets.id", ondelete="CASCADE"), primary_key=True
        )
    )
    token_id: int = columns.foreign_key("access_tokens.id")
    position: str = Field(max_length=16)
    start: str = Field(max_length=16)
    is_pulled: bool
    due_at: int = columns.timestamp()
    failures: int
    surfaces: str = Field(max_length=64, sa_column_kwargs={"server_default": "email,calendar"})


class ApproverRow(columns.Row, table=True):
    """
    A person who releases and rejects held writes, and may do nothing else.

    Attributes:
        digest: SHA-256 of the credential.
        operator_ids, resource_ids: The only ones whose writes the person sees; empty: all.
    """

    __tablename__ = "approvers"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: int | None = columns.primary_key()
    name: str = Field(sa_column=sa.Column(sa.String(100), nullable=False, unique=True))
    digest: bytes = Field(sa_column=sa.Column(sa.LargeBinary(32), nullable=False, unique=True))
    operator_ids: list[str] = columns.json()
    resource_ids: list[int] = columns.json()
    created_at: int = columns.timestamp()


class WebhookTarget(columns.Row, table=True):
    """
    A URL that is called when there is something to look at (docs/spec/webhooks.md).

    Attributes:
        id: Random.
        owner_kind, owner_id: As `gateway.webhooks.targets.Owner`.
        secrets: Sealed `gateway.webhooks.targets.Secrets`.
        state: "active", or "dead": it is not called any more.
        failures, first_failed_at: Of the failed calls since the last one that succeeded.
        last_error: Of the last failed one: its status or a word; None after a success.
    """

    __tablename__ = "webhook_targets"
    __table_args__ = (sa.Index("ix_webhook_targets_owner", "owner_kind", "owner_id"),)

    id: str = Field(primary_key=True, max_length=16)
    owner_kind: str = Field(max_length=16)
    owner_id: str = Field(max_length=64)
    url: str = Field(sa_column=sa.Column(sa.Text(), nullable=False))
    secrets: bytes = Field(sa_column=sa.Column(sa.LargeBinary(), nullable=False))
    state: str = Field(max_length=8)
    failures: int
    first_failed_at: int | None = columns.timestamp(nullable=True)
    last_error: str | None = Field(default=None, max_length=32)
    created_at: int = columns.timestamp()


class WebhookDelivery(columns.Row, table=True):
    """
    A wake-up that has not gone out: one of a target and a topic.

    Attributes:
        webhook_id: Random; the same at every attempt, another one for a wake-up that replaces it.
        body: JSON; ids alone.
        attempts: How many failed.
        lease, lease_until: Of the process that calls; 0 while none does.
        expires_at: When the call is pointless; None: never.
    """

    __tablename__ = "webhook_deliveries"
    __table_args__ = (sa.Index("ix_webhook_deliveries_next_at", "next_at"),)

    target_id: str = Field(
        sa_column=sa.Column(
            sa.String(16), sa.ForeignKey("webhook_targets.id", ondelete="CASCADE"), primary_key=True
        )
    )
    topic: str = Field(primary_key=True, max_length=64)
    webhook_id: str = Field(max_length=32)
    body: str = Field(sa_column=sa.Column(sa.Text(), nullable=False))
    attempts: int
    next_at: int = columns.timestamp()
    lease: str | None = Field(default=None, max_length=16)
    lease_until: int = columns.timestamp()
    expires_at: int | None = columns.timestamp(nullable=True)


class ConnectionWake(columns.Row, table=True):
    """
    A connection whose changes wake polls (docs/spec/changes.md#sooner-than-the-next-poll).

    Attributes:
        holder: The process that waits for a change, until *until*.
        woken_at: When it changed last; 0: not yet.
    """

    __tablename__ = "connection_wakes"

    connection_id: int = columns.foreign_key("connections.id", primary_key=True)
    holder: str = Field(max_length=32)
    until: int = columns.timestamp()
    woken_at: int = columns.timestamp()


class PushRegistration(columns.Row, table=True):
    """
    A connection whose provider tells of its changes (docs/spec/changes.md#notifications).

    Attributes:
        name: What the provider knows the registration by; "": it is being made, or was not.
        target: SHA-256 of what the deployment receives notifications by.
        mark: SHA-256 of what each notification has, in hexadecimal digits.
        renew_at: When it is renewed next.
        failure: What was missing at the last try, a member of `providers.ports.pushes.Lack` in
            lower case or "other"; "": nothing.
    """

    __tablename__ = "push_registrations"

    connection_id: int = columns.foreign_key("connections.id", primary_key=True)
    name: str = Field(max_length=320)
    target: str = Field(max_length=64)
    mark: str = Field(max_length=64, index=True)
    ends_at: int = columns.timestamp()
    renew_at: int = columns.timestamp()
    failure: str = Field(max_length=32)
