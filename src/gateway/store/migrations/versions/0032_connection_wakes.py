"""
Connections whose changes wake polls.

Revision ID: 0032
Revises: 0031
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "connection_wakes",
        sa.Column("connection_id", number, nullable=False),
        sa.Column("holder", sa.String(length=32), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("woken_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["connection_id"], ["connections.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("connection_id"),
    )


def downgrade() -> None:
    """Undo."""
    op.drop_table("connection_wakes")
