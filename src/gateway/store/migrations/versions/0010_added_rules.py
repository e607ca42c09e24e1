"""
The count of automatic rules among the changes of a token's policy.

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column(
        "access_tokens", sa.Column("added_rules", sa.Integer(), nullable=False, server_default="0")
    )


def downgrade() -> None:
    """Undo."""
    op.drop_column("access_tokens", "added_rules")
