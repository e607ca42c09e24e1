"""The decision log."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "decisions",
        sa.Column("id", LONG, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("request_id", sa.String(length=128), nullable=False),
        sa.Column("token_id", LONG, nullable=False),
        sa.Column("operator_id", sa.String(length=36), nullable=False),
        sa.Column("door", sa.String(length=8), nullable=False),
        sa.Column("surface", sa.String(length=16), nullable=True),
        sa.Column("operation", sa.String(length=64), nullable=True),
        sa.Column("resource_id", sa.String(length=1024), nullable=True),
        sa.Column("outcome", sa.String(length=8), nullable=False),
        sa.Column("layer", sa.String(length=32), nullable=True),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("rule_id", LONG, nullable=True),
        sa.Column("policy_rev", sa.Integer(), nullable=False),
        sa.Column("hidden_fields", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Integer(), nullable=False),
        sa.Column("duration", sa.BigInteger(), nullable=False),
        sa.Column("upstream_calls", sa.Integer(), nullable=False),
        sa.Column("upstream_status", sa.Integer(), nullable=True),
        sa.Column("chain", sa.String(length=32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("signature", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("chain", "number", name="uq_decisions_link"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_decisions_at", "decisions", ["at"])
    op.create_index("ix_decisions_request_id", "decisions", ["request_id"])
    op.create_index("ix_decisions_token_id_at", "decisions", ["token_id", "at"])


def downgrade() -> None:
    """Undo."""
    op.drop_index("ix_decisions_token_id_at", "decisions")
    op.drop_index("ix_decisions_request_id", "decisions")
    op.drop_index("ix_decisions_at", "decisions")
    op.drop_table("decisions")
