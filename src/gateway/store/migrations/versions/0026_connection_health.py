"""
Causes for which connections stopped working, and the ends of their credentials.

Revision ID: 0026
Revises: 0025
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("connections", sa.Column("status_cause", sa.String(length=32), nullable=True))
    op.add_column("connections", sa.Column("expires_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Undo."""
    op.drop_column("connections", "expires_at")
    op.drop_column("connections", "status_cause")
