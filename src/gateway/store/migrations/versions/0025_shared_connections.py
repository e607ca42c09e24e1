"""
Connections that use the credentials of another one.

Revision ID: 0025
Revises: 0024
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("connections", sa.Column("shared_on", kind, nullable=True))
    op.create_index("ix_connections_shared_on", "connections", ["shared_on"])


def downgrade() -> None:
    """Undo."""
    # Without the other connection they have no credentials.
    op.execute("DELETE FROM connections WHERE shared_on IS NOT NULL")
    op.drop_index("ix_connections_shared_on", "connections")
    op.drop_column("connections", "shared_on")
