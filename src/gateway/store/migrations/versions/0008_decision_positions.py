"""
The indexes that find a position in the decision log.

Revision ID: 0008
Revises: 0007
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_index("ix_decisions_at_id", "decisions", ["at", "id"])
    op.create_index("ix_decisions_token_id_at_id", "decisions", ["token_id", "at", "id"])
    op.drop_index("ix_decisions_at", "decisions")
    op.drop_index("ix_decisions_token_id_at", "decisions")


def downgrade() -> None:
    """Undo."""
    op.create_index("ix_decisions_at", "decisions", ["at"])
    op.create_index("ix_decisions_token_id_at", "decisions", ["token_id", "at"])
    op.drop_index("ix_decisions_at_id", "decisions")
    op.drop_index("ix_decisions_token_id_at_id", "decisions")
