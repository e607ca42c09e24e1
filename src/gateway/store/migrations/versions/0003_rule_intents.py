"""Rule intents: resources that tokens are about to create, so that no allow rule is lost."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "rule_intents",
        sa.Column("id", LONG, nullable=False),
        sa.Column("token_id", LONG, nullable=False),
        sa.Column("rule_type", sa.String(length=32), nullable=False),
        sa.Column("place", sa.String(length=2048), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["access_tokens.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    """Undo."""
    op.drop_table("rule_intents")
