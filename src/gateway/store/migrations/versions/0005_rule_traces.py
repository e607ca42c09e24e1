"""Fingerprints of rule intents, to find a created resource again."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply; intents from before have no trace, and the next look ends them."""
    for column in (
        sa.Column("trace", sa.Text(), nullable=False, server_default=""),
        sa.Column("lease_until", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("look_at", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("looks", sa.Integer(), nullable=False, server_default="0"),
    ):
        op.add_column("rule_intents", column)
    op.create_index("ix_rule_intents_look_at", "rule_intents", ["look_at"])


def downgrade() -> None:
    """Undo."""
    op.drop_index("ix_rule_intents_look_at", "rule_intents")
    for name in ("looks", "look_at", "lease_until", "trace"):
        op.drop_column("rule_intents", name)
