"""
Whether a row of the decision log is a dry run.

Revision ID: 0017
Revises: 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column(
        "decisions", sa.Column("dry_run", sa.Boolean(), nullable=False, server_default=sa.false())
    )


def downgrade() -> None:
    """Undo."""
    # Without the column, the signatures of these rows would not hold.
    op.execute("DELETE FROM decisions WHERE dry_run")
    op.drop_column("decisions", "dry_run")
