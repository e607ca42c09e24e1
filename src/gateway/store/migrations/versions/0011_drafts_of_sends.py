"""
The draft that the attempts of a send share.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("deliveries", sa.Column("draft", sa.Text(), nullable=True))
    # Attempts that may have sent without a draft: of no connection, so of unknown outcome.
    op.execute(
        "UPDATE deliveries SET draft = '0:'"
        " WHERE state = 'running' OR (state = 'free' AND maybe_sent)"
    )


def downgrade() -> None:
    """Undo."""
    op.drop_column("deliveries", "draft")
