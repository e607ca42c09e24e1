"""The tables of saved documents, of seals and ends of decision chains, and of leases."""

import sqlalchemy as sa
from sqlmodel import Field

from gateway.store import columns


class SavedDocumentRow(columns.Row, table=True):
    """
    A saved document (docs/spec/saved-documents.md).

    Attributes:
        route: The path with empty parameter names; with the method unique.
        digest: SHA-256 of the text, in hexadecimal digits.
    """

    __tablename__ = "saved_documents"
    __table_args__ = (
        sa.UniqueConstraint("name", name="uq_saved_documents_name"),
        sa.UniqueConstraint("method", "route", name="uq_saved_documents_route"),
        {"sqlite_autoincrement": True},
    )

    id: int | None = columns.primary_key()
    name: str = Field(max_length=63)
    method: str = Field(max_length=8)
    path: str = Field(max_length=200)
    route: str = Field(max_length=200)
    status: int
    text: str = Field(sa_column=sa.Column(sa.Text(), nullable=False))
    digest: str = Field(max_length=64)
    description: str | None = Field(default=None, max_length=500)
    created_at: int = columns.timestamp()
    updated_at: int = columns.timestamp()


class DecisionHead(columns.Row, table=True):
    """
    The signed end of a chain of decisions; see `gateway.audit.heads`.

    Attributes:
        number: Of its last row.
        digest: The signature of that row.
    """

    __tablename__ = "decision_heads"

    chain: str = Field(primary_key=True, max_length=32)
    number: int = Field(sa_column=sa.Column(sa.BigInteger(), nullable=False))
    digest: str = Field(max_length=64)
    signature: str = Field(max_length=64)


class DecisionSeal(columns.Row, table=True):
    """Signature over the rows *first* to *last* of a chain, and their faults; `audit.seals`."""

    __tablename__ = "decision_seals"

    chain: str = Field(primary_key=True, max_length=32)
    first: int = Field(sa_column=sa.Column(sa.BigInteger(), primary_key=True, autoincrement=False))
    last: int = Field(sa_column=sa.Column(sa.BigInteger(), nullable=False))
    digest: str = Field(max_length=64)
    faults: list[tuple[int, str]] = columns.json()
    sealed_at: int = columns.timestamp()
    signature: str = Field(max_length=64)


class LeaseRow(columns.Row, table=True):
    """A lock that *holder* has until *until* at the latest."""

    __tablename__ = "leases"

    name: str = Field(primary_key=True, max_length=100)
    holder: str = Field(max_length=32)
    until: int = columns.timestamp()
