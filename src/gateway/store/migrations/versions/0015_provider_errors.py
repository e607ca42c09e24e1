"""
What upstreams answered requests that failed then, for administrators.

Revision ID: 0015
Revises: 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "provider_errors",
        sa.Column("id", LONG, nullable=False),
        sa.Column("request_id", sa.String(length=128), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("connection_id", LONG, nullable=True),
        sa.Column("provider", sa.String(length=32), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("code", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_provider_errors_request_id", "provider_errors", ["request_id"])
    op.create_index("ix_provider_errors_at", "provider_errors", ["at"])


def downgrade() -> None:
    """Undo."""
    op.drop_index("ix_provider_errors_at", "provider_errors")
    op.drop_index("ix_provider_errors_request_id", "provider_errors")
    op.drop_table("provider_errors")
