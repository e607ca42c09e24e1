"""
The index of held writes in one state, newest first.

Revision ID: 0029
Revises: 0028
"""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

_NAME = "ix_held_writes_state_created_at_id"


def upgrade() -> None:
    """Apply."""
    op.create_index(_NAME, "held_writes", ["state", "created_at", "id"])


def downgrade() -> None:
    """Undo."""
    op.drop_index(_NAME, "held_writes")
