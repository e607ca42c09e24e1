"""
The index by which a request reads its operator's connections.

Revision ID: 0007
Revises: 0006
"""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_index(
        "ix_connections_operator_id_resource_id", "connections", ["operator_id", "resource_id"]
    )
    op.drop_index("ix_connections_operator_id", "connections")


def downgrade() -> None:
    """Undo."""
    op.create_index("ix_connections_operator_id", "connections", ["operator_id"])
    op.drop_index("ix_connections_operator_id_resource_id", "connections")
