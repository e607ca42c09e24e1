"""What `connection add` is told of an account."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.cli.documents import checked
from gateway.connections.rows import KINDS
from gateway.management.connection_bodies import NewConnection
from policy.refusals import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAccount:
    """
    What `connection add` was told.

    Attributes:
        secret: An API token, or with *client_id* the app-only client's secret; None: by consent.
    """

    kind: str
    provider: str
    account: str
    operator_id: str
    resource_id: int
    writing: bool
    site_ids: tuple[str, ...] = ()
    tenant: str = ""
    client_id: str = ""
    secret: str | None = field(default=None, repr=False)

    @property
    def credentials(self) -> Mapping[str, str] | None:
        """What is stored at once; None when a person consents first."""
        if self.secret is None:
            return None
        if self.client_id:
            client = {"clientId": self.client_id, "clientSecret": self.secret}
            return {**client, "tenant": self.tenant}
        return {"apiToken": self.secret}

    def check(self) -> None:
        """
        Check what can be checked without the store.

        Raises:
            InvalidInput: No such kind or provider, or no address.
        """
        known = KINDS.get(self.kind)
        if known is None:
            raise InvalidInput(f"There is no {self.kind}, only {', '.join(KINDS)}.")
        if self.provider not in known:
            raise InvalidInput(f"{self.provider} has no {self.kind}, only {' and '.join(known)}.")
        checked(
            NewConnection,
            {
                "resourceId": self.resource_id,
                "operatorId": self.operator_id,
                "kind": self.kind,
                "provider": self.provider,
                "accountEmail": self.account,
            },
        )
