"""
States of feeds of changes.

Revision ID: 0030
Revises: 0029
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "feed_states",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("token_id", number, nullable=False),
        sa.Column("feed", sa.String(length=16), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["access_tokens.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    for names in ("token_id", "feed created_at", "used_at"):
        columns = names.split()
        op.create_index(f"ix_feed_states_{'_'.join(columns)}", "feed_states", columns)


def downgrade() -> None:
    """Undo."""
    op.drop_table("feed_states")
