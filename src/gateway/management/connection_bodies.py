"""What the calls of `/api/connections` take; credentials go in and never come back."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from gateway.management.bodies import Address, Body, Change, Long, Name, Secret, Text, Time, invalid
from gateway.management.paging import Filters, Whole

Kind = Literal["email", "calendar", "tasks", "collab"]
Mode = Literal["delegated", "selected_sites"]
Scopes = Annotated[list[Text], Field(max_length=200)]
SiteIds = Annotated[list[Text], Field(max_length=1000)]


class Credentials(Body):
    """One of: accessToken with what renews it, a client of its own, or an API token."""

    access_token: Secret | None = None
    refresh_token: Secret | None = None
    expires_at: Time | None = None
    client_id: Secret | None = None
    client_secret: Secret | None = None
    tenant: Secret | None = None
    api_token: Secret | None = None

    def stored(self) -> Mapping[str, Any]:
        """
        Return the members to be sealed.

        Raises:
            InvalidInput: Not exactly one of the three forms.
        """
        given = self.model_dump(by_alias=True, exclude_none=True)
        for required, optional in _FORMS:
            if required <= set(given) <= required | optional:
                return given
        raise invalid("credentials", f"must be one of: {_FORM_WORDS}")


_FORMS = (
    ({"accessToken"}, {"refreshToken", "expiresAt"}),
    ({"clientId", "clientSecret", "tenant"}, set[str]()),
    ({"apiToken"}, set[str]()),
)
_FORM_WORDS = "accessToken (refreshToken, expiresAt); clientId, clientSecret, tenant; apiToken"


class NewConnection(Body):
    resource_id: Long
    operator_id: str
    kind: Kind
    provider: Name
    mode: Mode | None = None
    account_email: Address
    granted_scopes: Scopes = Field(default_factory=list)
    selected_site_ids: SiteIds = Field(default_factory=list)
    credentials: Credentials | None = None
    base_url: Text | None = None


class ConnectionChange(Change):
    mode: Mode = "delegated"
    account_email: Address = ""
    granted_scopes: Scopes = Field(default_factory=list)
    selected_site_ids: SiteIds = Field(default_factory=list)
    credentials: Credentials | None = None
    base_url: Text | None = None
    status: Literal["active", "disabled"] = "active"


class ConnectionFilters(Filters):
    resource_id: Annotated[Whole, Field(le=2**63 - 1)] | None = None
    operator_id: str | None = None
    kind: Kind | None = None
    status: Literal["active", "needs_reauth", "disabled", "error"] | None = None
