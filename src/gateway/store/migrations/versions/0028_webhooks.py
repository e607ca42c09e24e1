"""
Signed wake-up calls: their targets, and those that have not gone out.

Revision ID: 0028
Revises: 0027
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def _text(name: str, length: int, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(length=length), nullable=nullable)


def _number(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=nullable)


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "webhook_targets",
        _text("id", 16),
        _text("owner_kind", 16),
        _text("owner_id", 64),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secrets", sa.LargeBinary(), nullable=False),
        _text("state", 8),
        sa.Column("failures", sa.Integer(), nullable=False),
        _number("first_failed_at", nullable=True),
        _text("last_error", 32, nullable=True),
        _number("created_at"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_webhook_targets_owner", "webhook_targets", ["owner_kind", "owner_id"])
    op.create_table(
        "webhook_deliveries",
        _text("target_id", 16),
        _text("topic", 64),
        _text("webhook_id", 32),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        _number("next_at"),
        _text("lease", 16, nullable=True),
        _number("lease_until"),
        _number("expires_at", nullable=True),
        sa.ForeignKeyConstraint(["target_id"], ["webhook_targets.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("target_id", "topic"),
    )
    op.create_index("ix_webhook_deliveries_next_at", "webhook_deliveries", ["next_at"])


def downgrade() -> None:
    """Undo."""
    op.drop_table("webhook_deliveries")
    op.drop_table("webhook_targets")
