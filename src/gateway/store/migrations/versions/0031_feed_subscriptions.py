"""
Subscriptions to feeds of changes.

Revision ID: 0031
Revises: 0030
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "feed_subscriptions",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("token_id", number, nullable=False),
        sa.Column("position", sa.String(length=16), nullable=False),
        sa.Column("start", sa.String(length=16), nullable=False),
        sa.Column("is_pulled", sa.Boolean(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["id"], ["webhook_targets.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["token_id"], ["access_tokens.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    for name in ("token_id", "due_at"):
        op.create_index(f"ix_feed_subscriptions_{name}", "feed_subscriptions", [name])


def downgrade() -> None:
    """Undo."""
    kind = sa.text("DELETE FROM webhook_targets WHERE owner_kind = 'subscription'")
    op.execute(kind)
    op.drop_table("feed_subscriptions")
