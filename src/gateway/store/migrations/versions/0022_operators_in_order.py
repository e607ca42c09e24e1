"""
An index by which a page of the list of operators is read in its order, without sorting all.

Revision ID: 0022
Revises: 0021
"""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_index("ix_operators_created_at_id", "operators", ["created_at", "id"])


def downgrade() -> None:
    """Undo."""
    op.drop_index("ix_operators_created_at_id", "operators")
