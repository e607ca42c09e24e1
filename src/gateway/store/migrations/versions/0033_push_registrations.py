"""
Connections whose providers tell of their changes.

Revision ID: 0033
Revises: 0032
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "push_registrations",
        sa.Column("connection_id", number, nullable=False),
        sa.Column("name", sa.String(length=320), nullable=False),
        sa.Column("target", sa.String(length=64), nullable=False),
        sa.Column("mark", sa.String(length=64), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.Column("renew_at", sa.BigInteger(), nullable=False),
        sa.Column("failure", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["connection_id"], ["connections.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("connection_id"),
    )
    op.create_index("ix_push_registrations_mark", "push_registrations", ["mark"])


def downgrade() -> None:
    """Undo."""
    op.drop_table("push_registrations")
