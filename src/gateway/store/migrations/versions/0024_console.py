"""
Sessions of the console, and indexes for what its pages look for.

Revision ID: 0024
Revises: 0023
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "console_sessions",
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("admin", sa.String(length=64), nullable=False),
        sa.Column("proof", sa.String(length=64), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("ix_connections_status_id", "connections", ["status", "id"])
    op.create_index(
        "ix_access_tokens_name",
        "access_tokens",
        ["name"],
        postgresql_ops={"name": "varchar_pattern_ops"},
    )
    op.create_index(
        "ix_operators_email",
        "operators",
        ["email"],
        postgresql_ops={"email": "varchar_pattern_ops"},
    )


def downgrade() -> None:
    """Undo."""
    op.drop_index("ix_operators_email", "operators")
    op.drop_index("ix_access_tokens_name", "access_tokens")
    op.drop_index("ix_connections_status_id", "connections")
    op.drop_table("console_sessions")
