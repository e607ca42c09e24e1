"""
The parents of child tokens, and of the tokens of decisions.

Revision ID: 0016
Revises: 0015
"""

import sqlalchemy as sa
from alembic import op

from gateway.store import columns

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("access_tokens", sa.Column("parent_id", columns.bigint(), nullable=True))
    op.create_index("ix_access_tokens_parent_id", "access_tokens", ["parent_id"])
    op.add_column("decisions", sa.Column("parent_id", columns.bigint(), nullable=True))


def downgrade() -> None:
    """Undo."""
    # Without their parents, child tokens would allow more, and these signatures would not hold.
    op.execute("DELETE FROM access_tokens WHERE parent_id IS NOT NULL")
    op.execute("DELETE FROM decisions WHERE parent_id IS NOT NULL")
    op.drop_column("decisions", "parent_id")
    op.drop_index("ix_access_tokens_parent_id", "access_tokens")
    op.drop_column("access_tokens", "parent_id")
