"""
Clients, grants and one-time links of sign-in, and the paths that accept tokens.

Revision ID: 0023
Revises: 0022
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def _bigint() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.add_column("access_tokens", sa.Column("audience", sa.String(length=64), nullable=True))
    op.create_table(
        "oauth_clients",
        sa.Column("id", sa.String(length=43), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("redirect_uris", sa.JSON(), nullable=False),
        sa.Column("secret_digest", sa.LargeBinary(length=32), nullable=True),
        sa.Column("is_registered_by_itself", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "oauth_grants",
        sa.Column("token_id", _bigint(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("redirect_uri", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("scope", sa.String(length=64), nullable=False),
        sa.Column("challenge", sa.String(length=43), nullable=False),
        sa.Column("code_digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("code_until", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=True),
        sa.Column("family_digest", sa.LargeBinary(length=32), nullable=True),
        sa.Column("refresh_digest", sa.LargeBinary(length=32), nullable=True),
        sa.ForeignKeyConstraint(["token_id"], ["access_tokens.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("token_id"),
        sa.UniqueConstraint("code_digest"),
        sa.UniqueConstraint("family_digest"),
    )
    op.create_index("ix_oauth_grants_client_id", "oauth_grants", ["client_id"])
    op.create_table(
        "sign_in_links",
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("token_id", _bigint(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["access_tokens.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("ix_sign_in_links_token_id", "sign_in_links", ["token_id"])


def downgrade() -> None:
    """Undo."""
    op.drop_table("sign_in_links")
    op.drop_table("oauth_grants")
    op.drop_table("oauth_clients")
    # Without its audience, a token would be accepted by more paths.
    op.execute("DELETE FROM access_tokens WHERE audience IS NOT NULL")
    op.drop_column("access_tokens", "audience")
