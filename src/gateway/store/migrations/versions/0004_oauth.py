"""Consents under way, and what one process at a time may do."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "oauth_attempts",
        sa.Column("id", sa.String(length=43), nullable=False),
        sa.Column("connection_id", LONG, nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["connection_id"], ["connections.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_oauth_attempts_connection_id", "oauth_attempts", ["connection_id"])
    op.create_index("ix_oauth_attempts_expires_at", "oauth_attempts", ["expires_at"])
    op.create_table(
        "leases",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("holder", sa.String(length=32), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def downgrade() -> None:
    """Undo."""
    op.drop_table("leases")
    op.drop_index("ix_oauth_attempts_expires_at", "oauth_attempts")
    op.drop_index("ix_oauth_attempts_connection_id", "oauth_attempts")
    op.drop_table("oauth_attempts")
