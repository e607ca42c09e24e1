"""First tables: operators, resources, connections, tokens, rules and the delivery ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "access_tokens",
        sa.Column("id", LONG, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("key_id", sa.String(length=8), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("previous_digest", sa.LargeBinary(length=32), nullable=True),
        sa.Column("previous_until", sa.BigInteger(), nullable=True),
        sa.Column("operator_id", sa.String(length=36), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("policy_rev", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
        sa.UniqueConstraint("previous_digest"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("access_tokens", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_access_tokens_operator_id"), ["operator_id"], unique=False
        )

    op.create_table(
        "operators",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("display_name", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "resources",
        sa.Column("id", LONG, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "collab_rules",
        sa.Column("id", LONG, nullable=False),
        sa.Column("token_id", LONG, nullable=False),
        sa.Column("rule_type", sa.String(length=32), nullable=False),
        sa.Column("pattern", sa.String(length=1024), nullable=False),
        sa.Column("action", sa.String(length=8), nullable=False),
        sa.Column("description", sa.String(length=500), nullable=True),
        sa.Column("source", sa.String(length=8), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["access_tokens.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint(
            "token_id", "rule_type", "pattern", "action", name="uq_collab_rules_rule"
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "connections",
        sa.Column("id", LONG, nullable=False),
        sa.Column("resource_id", LONG, nullable=False),
        sa.Column("operator_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("provider", sa.String(length=32), nullable=False),
        sa.Column("mode", sa.String(length=32), nullable=True),
        sa.Column("account_email", sa.String(length=320), nullable=False),
        sa.Column("granted_scopes", sa.JSON(), nullable=False),
        sa.Column("can_write", sa.Boolean(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("status_detail", sa.String(length=500), nullable=True),
        sa.Column("base_url", sa.String(length=500), nullable=True),
        sa.Column("selected_site_ids", sa.JSON(), nullable=False),
        sa.Column("credentials", sa.LargeBinary(), nullable=True),
        sa.Column("last_ok_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["operator_id"], ["operators.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["resource_id"], ["resources.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("connections", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_connections_operator_id"), ["operator_id"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_connections_resource_id"), ["resource_id"], unique=False
        )

    op.create_table(
        "deliveries",
        sa.Column("id", LONG, nullable=False),
        sa.Column("token_id", LONG, nullable=False),
        sa.Column("method", sa.String(length=8), nullable=False),
        sa.Column("path", sa.String(length=2000), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(length=32), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("seed", sa.String(length=64), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("maybe_sent", sa.Boolean(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.LargeBinary(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["access_tokens.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_id", "method", "path", "key", name="uq_deliveries_key"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("deliveries", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_deliveries_started_at"), ["started_at"], unique=False)

    op.create_table(
        "operator_resources",
        sa.Column("operator_id", sa.String(length=36), nullable=False),
        sa.Column("resource_id", LONG, nullable=False),
        sa.ForeignKeyConstraint(["operator_id"], ["operators.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["resource_id"], ["resources.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("operator_id", "resource_id"),
    )
    with op.batch_alter_table("operator_resources", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_operator_resources_resource_id"), ["resource_id"], unique=False
        )

    op.create_table(
        "token_resources",
        sa.Column("token_id", LONG, nullable=False),
        sa.Column("resource_id", LONG, nullable=False),
        sa.ForeignKeyConstraint(["resource_id"], ["resources.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["token_id"], ["access_tokens.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("token_id", "resource_id"),
    )
    with op.batch_alter_table("token_resources", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_token_resources_resource_id"), ["resource_id"], unique=False
        )


def downgrade() -> None:
    """Undo."""
    with op.batch_alter_table("token_resources", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_token_resources_resource_id"))

    op.drop_table("token_resources")
    with op.batch_alter_table("operator_resources", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_operator_resources_resource_id"))

    op.drop_table("operator_resources")
    with op.batch_alter_table("deliveries", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_deliveries_started_at"))

    op.drop_table("deliveries")
    with op.batch_alter_table("connections", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_connections_resource_id"))
        batch_op.drop_index(batch_op.f("ix_connections_operator_id"))

    op.drop_table("connections")
    op.drop_table("collab_rules")
    op.drop_table("resources")
    op.drop_table("operators")
    with op.batch_alter_table("access_tokens", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_access_tokens_operator_id"))

    op.drop_table("access_tokens")
