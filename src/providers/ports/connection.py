"""Description of a connection, as the graph and the connectors see it."""

import msgspec


class ConnectionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """
    A connection without its credentials.

    Attributes:
        kind: "email", "calendar", "tasks" or "collab".
        provider: "PROVIDER_A", "PROVIDER_B", "COLLAB" or a task provider's code.
        mode: "delegated" or "selected_sites" (collab only).
        status: "active", "needs_reauth", "disabled" or "error".
        reconnect_url: Where a person can sign in again; None when unknown.
        base_url: Origin and path prefix of the upstream.
        shared_on: The connection through which it is reached, a person's; *account_email* is then
            the mailbox (or owner of the calendar) that is shared with the person. None: its own.
        cause: Code of the cause of a status other than active; None when nothing tells.
        expires_at: When its credentials must be renewed, in milliseconds; None: nothing tells.
    """

    id: int
    resource_id: int
    kind: str
    provider: str
    mode: str | None = None
    account_email: str = ""
    can_write: bool = False
    status: str = "active"
    reconnect_url: str | None = None
    selected_site_ids: tuple[str, ...] = ()
    base_url: str = ""
    granted_scopes: tuple[str, ...] = ()
    shared_on: int | None = None
    cause: str | None = None
    expires_at: int | None = None

    @property
    def credential_id(self) -> int:
        """The connection whose credentials it uses."""
        return self.shared_on or self.id
