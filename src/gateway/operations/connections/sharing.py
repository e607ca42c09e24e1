"""
Mailboxes and calendars that are shared with the owner of a connection.

See docs/spec/shared-mailboxes.md#connections.
"""

from collections.abc import Container

from gateway.operations.inputs import EmailAddress, Input, RowId
from gateway.operations.validation import invalid
from gateway.store.tables import ConnectionRow
from providers.catalogue import tables as catalogue

_MEMBERS_OF_BASE = {
    "credentials": "credentials",
    "granted_scopes": "grantedScopes",
    "base_url": "baseUrl",
}


class SharedConnection(Input):
    """A mailbox that the owner of another connection may open, or whose calendars."""

    account_email: EmailAddress
    resource_id: RowId | None = None
    operator_id: str | None = None
    read_only: bool = False


def require_base(base: ConnectionRow, new: SharedConnection) -> None:
    """
    Check that a mailbox may be shared on *base*.

    Raises:
        InvalidInput: It may not.
    """
    name = f"connection {base.id}"
    if base.shared_on is not None:
        raise invalid("connectionId", f"is shared itself: share on connection {base.shared_on}")
    if not catalogue.SERVICES[base.kind, base.provider].shares:
        product = catalogue.with_product(base.kind, base.provider)
        raise invalid("connectionId", f"is of {product}, which shares nothing with an account")
    if new.account_email.casefold() == base.account_email.casefold():
        raise invalid("accountEmail", f"is that of {name}: it is the person's own mailbox")


def require_own(row: ConnectionRow, members: Container[str]) -> None:
    """Refuse the members that a shared connection takes from its base."""
    for member, field in _MEMBERS_OF_BASE.items():
        if member in members:
            raise invalid(field, f"is that of connection {row.shared_on}: change it there")
