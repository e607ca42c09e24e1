"""Files uploaded to be attached to messages, for an hour."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "uploads",
        sa.Column("id", LONG, nullable=False),
        sa.Column("token_id", LONG, nullable=False),
        sa.Column("handle", sa.String(length=43), nullable=False),
        sa.Column("description", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("is_complete", sa.Boolean(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["access_tokens.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("handle", name="uq_uploads_handle"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_uploads_token_id", "uploads", ["token_id"])
    op.create_index("ix_uploads_expires_at", "uploads", ["expires_at"])
    op.create_table(
        "upload_chunks",
        sa.Column("upload_id", LONG, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["upload_id"], ["uploads.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("upload_id", "number"),
    )


def downgrade() -> None:
    """Undo."""
    op.drop_table("upload_chunks")
    op.drop_index("ix_uploads_expires_at", "uploads")
    op.drop_index("ix_uploads_token_id", "uploads")
    op.drop_table("uploads")
