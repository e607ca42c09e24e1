"""
The tables of version 0.2, which the first 19 migrations made one after another.

A database of that version is of the same revision; an older one is refused, see
docs/operate/upgrade.md.
"""

import secrets
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = None
branch_labels = None
depends_on = None

LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# In the order of their creation: each refers to earlier ones alone.
_TABLES = (
    *("access_tokens", "operators", "resources", "collab_rules", "rule_intents", "connections"),
    *("operator_resources", "token_resources", "oauth_attempts", "calendars", "events"),
    *("deliveries", "leases", "provider_errors", "uploads", "upload_chunks", "decisions"),
    *("decision_seals", "decision_heads", "saved_documents", "deployment"),
)


def upgrade() -> None:
    """Apply."""
    _create_access()
    _create_rules()
    _create_connections()
    _create_calls()
    _create_uploads()
    _create_decisions()
    _create_documents()


def downgrade() -> None:
    """Undo."""
    for table in reversed(_TABLES):
        op.drop_table(table)


def _create_access() -> None:
    _create(
        "access_tokens",
        _id("id"),
        _text("name", 100),
        _text("key_id", 8),
        _bytes("digest", 32),
        _bytes("previous_digest", 32, nullable=True),
        _large("previous_until", nullable=True),
        _text("operator_id", 36),
        sa.Column("settings", sa.JSON(), nullable=False),
        _small("policy_rev"),
        _large("created_at"),
        _large("expires_at", nullable=True),
        _large("revoked_at", nullable=True),
        _large("last_used_at", nullable=True),
        _small("added_rules", server_default="0"),
        _id("parent_id", nullable=True),
        sa.UniqueConstraint("digest"),
        sa.UniqueConstraint("previous_digest"),
        indexes=[["operator_id"], ["parent_id"]],
    )
    _create(
        "operators",
        _text("id", 36),
        _text("email", 320),
        _text("display_name", 200),
        _large("created_at"),
    )
    _create("resources", _id("id"), _text("name", 200), _large("created_at"))


def _create_rules() -> None:
    _create(
        "collab_rules",
        _id("id"),
        _id("token_id"),
        _text("rule_type", 32),
        _text("pattern", 1024),
        _text("action", 8),
        _text("description", 500, nullable=True),
        _text("source", 8),
        _large("created_at"),
        _large("updated_at"),
        _belongs_to("token_id", "access_tokens.id"),
        sa.UniqueConstraint(
            "token_id", "rule_type", "pattern", "action", name="uq_collab_rules_rule"
        ),
    )
    _create(
        "rule_intents",
        _id("id"),
        _id("token_id"),
        _text("rule_type", 32),
        _text("place", 2048),
        _large("created_at"),
        sa.Column("trace", sa.Text(), nullable=False, server_default=""),
        _large("lease_until", server_default="0"),
        _large("look_at", server_default="0"),
        _small("looks", server_default="0"),
        _belongs_to("token_id", "access_tokens.id"),
        indexes=[["look_at"]],
    )


def _create_connections() -> None:
    _create(
        "connections",
        _id("id"),
        _id("resource_id"),
        _text("operator_id", 36),
        _text("kind", 16),
        _text("provider", 32),
        _text("mode", 32, nullable=True),
        _text("account_email", 320),
        sa.Column("granted_scopes", sa.JSON(), nullable=False),
        sa.Column("can_write", sa.Boolean(), nullable=False),
        _text("status", 16),
        _text("status_detail", 500, nullable=True),
        _text("base_url", 500, nullable=True),
        sa.Column("selected_site_ids", sa.JSON(), nullable=False),
        _bytes("credentials", nullable=True),
        _large("last_ok_at", nullable=True),
        _large("created_at"),
        _large("updated_at"),
        _belongs_to("operator_id", "operators.id"),
        _belongs_to("resource_id", "resources.id"),
        indexes=[["resource_id"], ["operator_id", "resource_id"]],
    )
    for table, column, owner in (
        ("operator_resources", _text("operator_id", 36), "operators.id"),
        ("token_resources", _id("token_id"), "access_tokens.id"),
    ):
        _create(
            table,
            column,
            _id("resource_id"),
            _belongs_to(column.name, owner),
            _belongs_to("resource_id", "resources.id"),
            key=(column.name, "resource_id"),
            indexes=[["resource_id"]],
        )
    _create(
        "oauth_attempts",
        _text("id", 43),
        _id("connection_id"),
        _bytes("secret"),
        _large("expires_at"),
        _belongs_to("connection_id", "connections.id"),
        indexes=[["connection_id"], ["expires_at"]],
    )
    _create(
        "calendars",
        _id("id"),
        _id("connection_id"),
        _text("native_id", 1024),
        _belongs_to("connection_id", "connections.id"),
        sa.UniqueConstraint("connection_id", "native_id", name="uq_calendars_place"),
    )
    _create(
        "events",
        _bytes("id", 16),
        _id("calendar_id"),
        _text("native_id", 1024),
        _belongs_to("calendar_id", "calendars.id"),
        indexes=[["calendar_id"]],
    )


def _create_calls() -> None:
    _create(
        "deliveries",
        _id("id"),
        _id("token_id"),
        _text("method", 8),
        _text("path", 2000),
        _text("key", 255),
        _bytes("fingerprint", 32),
        _text("state", 8),
        _text("seed", 64),
        _small("attempt"),
        sa.Column("maybe_sent", sa.Boolean(), nullable=False),
        _large("lease_until"),
        _bytes("outcome", nullable=True),
        _large("started_at"),
        sa.Column("draft", sa.Text(), nullable=True),
        _belongs_to("token_id", "access_tokens.id"),
        sa.UniqueConstraint("token_id", "method", "path", "key", name="uq_deliveries_key"),
        indexes=[["started_at"]],
    )
    _create("leases", _text("name", 100), _text("holder", 32), _large("until"), key=("name",))
    _create(
        "provider_errors",
        _id("id"),
        _text("request_id", 128),
        _large("at"),
        _id("connection_id", nullable=True),
        _text("provider", 32),
        _small("status", nullable=True),
        _text("code", 64),
        sa.Column("reason", sa.Text(), nullable=False),
        indexes=[["request_id"], ["at"]],
    )


def _create_uploads() -> None:
    _create(
        "uploads",
        _id("id"),
        _id("token_id"),
        _text("handle", 43),
        _bytes("description"),
        _large("size"),
        sa.Column("is_complete", sa.Boolean(), nullable=False),
        _large("expires_at"),
        _belongs_to("token_id", "access_tokens.id"),
        sa.UniqueConstraint("handle", name="uq_uploads_handle"),
        indexes=[["token_id"], ["expires_at"]],
    )
    _create(
        "upload_chunks",
        _id("upload_id"),
        _small("number"),
        _bytes("content"),
        _belongs_to("upload_id", "uploads.id"),
        key=("upload_id", "number"),
    )


def _create_decisions() -> None:
    _create(
        "decisions",
        _id("id"),
        _large("at"),
        _text("request_id", 128),
        _id("token_id"),
        _text("operator_id", 36),
        _text("door", 8),
        _text("surface", 16, nullable=True),
        _text("operation", 64, nullable=True),
        _text("resource_id", 1024, nullable=True),
        _text("outcome", 8),
        _text("layer", 32, nullable=True),
        _text("code", 64, nullable=True),
        _small("status"),
        _id("rule_id", nullable=True),
        *map(_small, ("policy_rev", "hidden_fields", "cost")),
        _large("duration"),
        _small("upstream_calls"),
        _small("upstream_status", nullable=True),
        _text("chain", 32),
        _large("number"),
        _text("signature", 64),
        _text("actor", 100, nullable=True),
        _id("parent_id", nullable=True),
        sa.Column("dry_run", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.UniqueConstraint("chain", "number", name="uq_decisions_link"),
        indexes=[["request_id"], ["at", "id"], ["token_id", "at", "id"]],
    )
    _create(
        "decision_seals",
        _text("chain", 32),
        _large("first"),
        _large("last"),
        _text("digest", 64),
        sa.Column("faults", sa.JSON(), nullable=False),
        _large("sealed_at"),
        _text("signature", 64),
        key=("chain", "first"),
    )
    _create(
        "decision_heads",
        _text("chain", 32),
        _large("number"),
        _text("digest", 64),
        _text("signature", 64),
        key=("chain",),
    )


def _create_documents() -> None:
    _create(
        "saved_documents",
        _id("id"),
        _text("name", 63),
        _text("method", 8),
        _text("path", 200),
        _text("route", 200),
        _small("status"),
        sa.Column("text", sa.Text(), nullable=False),
        _text("digest", 64),
        _text("description", 500, nullable=True),
        _large("created_at"),
        _large("updated_at"),
        sa.UniqueConstraint("name", name="uq_saved_documents_name"),
        sa.UniqueConstraint("method", "route", name="uq_saved_documents_route"),
    )
    deployment = _create("deployment", _text("id", 32), _small("documents_rev", server_default="0"))
    op.bulk_insert(deployment, [{"id": secrets.token_hex(8)}])


def _create(
    name: str, *members: Any, key: Sequence[str] = ("id",), indexes: Sequence[Sequence[str]] = ()
) -> sa.Table:
    """Create a table with its primary *key*, and an index over each of *indexes*."""
    numbered = key == ("id",) and members[0].type is LONG
    members = (*members, sa.PrimaryKeyConstraint(*key))
    table = op.create_table(name, *members, sqlite_autoincrement=numbered)
    for columns in indexes:
        op.create_index(f"ix_{name}_{'_'.join(columns)}", name, columns)
    return table


def _id(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, LONG, nullable=nullable)


def _large(name: str, *, nullable: bool = False, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.BigInteger(), nullable=nullable, **options)


def _small(name: str, *, nullable: bool = False, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.Integer(), nullable=nullable, **options)


def _text(name: str, length: int, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.String(length), nullable=nullable)


def _bytes(name: str, length: int | None = None, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.LargeBinary(length), nullable=nullable)


def _belongs_to(column: str, owner: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [owner], ondelete="CASCADE")
