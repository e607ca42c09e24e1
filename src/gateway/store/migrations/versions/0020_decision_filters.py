"""
The indexes that find the rows of each filter of the decision log.

Revision ID: 0020
Revises: 0019
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_ALWAYS = ("request_id", "outcome")
_MAY_BE_NULL = ("surface", "operation", "layer", "code", "actor")


def upgrade() -> None:
    """Apply."""
    for name in (*_ALWAYS, *_MAY_BE_NULL):
        where = sa.text(f"{name} IS NOT NULL") if name in _MAY_BE_NULL else None
        op.create_index(
            f"ix_decisions_{name}_at_id",
            "decisions",
            [name, "at", "id"],
            postgresql_where=where,
            sqlite_where=where,
        )
    op.drop_index("ix_decisions_request_id", "decisions")


def downgrade() -> None:
    """Undo."""
    op.create_index("ix_decisions_request_id", "decisions", ["request_id"])
    for name in (*_ALWAYS, *_MAY_BE_NULL):
        op.drop_index(f"ix_decisions_{name}_at_id", "decisions")
