"""
The administrator behind a row of the decision log.

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("decisions", sa.Column("actor", sa.String(length=100), nullable=True))


def downgrade() -> None:
    """Undo."""
    # Without their actors, the signatures of these rows would not hold.
    op.execute("DELETE FROM decisions WHERE actor IS NOT NULL")
    op.drop_column("decisions", "actor")
