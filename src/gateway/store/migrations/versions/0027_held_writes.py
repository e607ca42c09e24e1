"""
Held writes, and the approvers who release them.

Revision ID: 0027
Revises: 0026
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def _bigint() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _text(name: str, length: int, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(length=length), nullable=nullable)


def _number(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=nullable)


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "held_writes",
        _text("id", 22),
        sa.Column("token_id", _bigint(), nullable=False),
        _text("operator_id", 36),
        _text("origin", 64, nullable=True),
        _text("operation", 64),
        sa.Column("connection_id", _bigint(), nullable=True),
        _text("state", 10),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("outcome", sa.LargeBinary(), nullable=True),
        _text("reason", 300, nullable=True),
        _text("decided_by", 100, nullable=True),
        *(_number(name) for name in ("created_at", "expires_at")),
        *(_number(name, nullable=True) for name in ("started_at", "ended_at")),
        sa.ForeignKeyConstraint(["token_id"], ["access_tokens.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("origin"),
    )
    for names in ("state expires_at", "token_id state", "created_at id", "ended_at"):
        columns = names.split()
        op.create_index(f"ix_held_writes_{'_'.join(columns)}", "held_writes", columns)
    op.create_table(
        "approvers",
        sa.Column("id", _bigint(), nullable=False),
        _text("name", 100),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("operator_ids", sa.JSON(), nullable=False),
        sa.Column("resource_ids", sa.JSON(), nullable=False),
        _number("created_at"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sa.UniqueConstraint("digest"),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    """Undo."""
    op.drop_table("approvers")
    op.drop_table("held_writes")
    # An earlier version reads this word as one it does not know, which closes the setting to
    # `effect`: it would let the caller itself confirm. Such tokens end instead.
    op.execute(
        "UPDATE access_tokens SET revoked_at = created_at"
        ' WHERE revoked_at IS NULL AND CAST(settings AS TEXT) LIKE \'%"writes": "approve"%\''
    )
