"""
The random id of the deployment.

Revision ID: 0009
Revises: 0008
"""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    table = op.create_table(
        "deployment",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.bulk_insert(table, [{"id": secrets.token_hex(8)}])


def downgrade() -> None:
    """Undo."""
    op.drop_table("deployment")
