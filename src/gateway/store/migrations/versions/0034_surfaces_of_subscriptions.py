"""
Surfaces that subscriptions to changes follow.

Revision ID: 0034
Revises: 0033
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply; those of older rows are unknown, and every account that can wake them does."""
    surfaces = sa.Column(
        "surfaces", sa.String(length=64), nullable=False, server_default="email,calendar"
    )
    op.add_column("feed_subscriptions", surfaces)


def downgrade() -> None:
    """Undo."""
    op.drop_column("feed_subscriptions", "surfaces")
