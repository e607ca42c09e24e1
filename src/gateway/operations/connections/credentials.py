"""Credentials of connections, as an administrator sends them: exactly one form each."""

from collections.abc import Mapping
from typing import Any

from gateway.connections import rows as connection_rows
from gateway.connections.oauth_servers import IDENTITY
from gateway.operations.connections.addresses import check_submission_url, check_token_url
from gateway.operations.inputs import EmailAddress, Input, Pem, Secret, ShortText, Tenant, Time
from gateway.operations.validation import invalid
from gateway.secrets.keyring import Keyring
from gateway.store.tables import ConnectionRow
from providers.catalogue import tables as catalogue
from providers.catalogue.descriptors import Connector


class Credentials(Input):
    """
    One of: accessToken with what renews it, a client of its own, an API token, a password.

    At an own mail server: a password, or an access token, with what renews it.
    """

    access_token: Secret | None = None
    refresh_token: Secret | None = None
    expires_at: Time | None = None
    client_id: Secret | None = None
    client_secret: Secret | None = None
    tenant: Tenant | None = None
    api_token: Secret | None = None
    username: Secret | None = None
    password: Secret | None = None
    submission_url: ShortText | None = None
    token_url: ShortText | None = None
    client_email: Secret | None = None
    private_key: Pem | None = None
    private_key_id: Secret | None = None
    subject: EmailAddress | None = None

    def stored(self) -> Mapping[str, Any]:
        """
        Return the members that are encrypted.

        Raises:
            InvalidInput: They are not exactly one of the forms.
        """
        members = self.model_dump(by_alias=True, exclude_none=True)
        for required, optional in _CREDENTIAL_FORMS:
            if required <= set(members) <= required | optional:
                return members
        raise invalid("credentials", f"must be one of: {_CREDENTIAL_FORMS_TEXT}")


_CREDENTIAL_FORMS = (  # required members, optional members
    ({"accessToken"}, {"refreshToken", "expiresAt"}),
    ({"clientId", "clientSecret", "tenant"}, {"expiresAt"}),
    ({"apiToken"}, set[str]()),
    ({"clientEmail", "privateKey", "subject"}, {"privateKeyId", "expiresAt"}),
    ({"username", "password"}, {"submissionUrl", "expiresAt"}),
    ({"username", "accessToken"}, {"expiresAt", "submissionUrl"}),
    (
        {"username", "accessToken", "refreshToken", "tokenUrl", "clientId"},
        {"expiresAt", "clientSecret", "submissionUrl"},
    ),
)
_CREDENTIAL_FORMS_TEXT = (
    "accessToken (refreshToken, expiresAt); clientId, clientSecret, tenant (expiresAt); apiToken; "
    "clientEmail, privateKey, subject (privateKeyId, expiresAt); "
    "username, password (submissionUrl, expiresAt); "
    "username, accessToken (expiresAt, submissionUrl); "
    "username, accessToken, refreshToken, tokenUrl, clientId (expiresAt, clientSecret, "
    "submissionUrl)"
)


def store_credentials(row: ConnectionRow, credentials: Credentials, keyring: Keyring) -> None:
    """
    Seal *credentials* into the row of a new or changed connection.

    Raises:
        InvalidInput: Their form is not one of the row's provider.
    """
    stored = credentials.stored()
    if "subject" in stored:
        stored = {**stored, "scopes": _delegated_scopes(row, stored)}
    server = catalogue.CONNECTORS[row.provider].own_server
    is_own = server is not None
    needs_password = server is not None and not server.takes_tokens
    if ("username" in stored) != is_own or (needs_password and "accessToken" in stored):
        form = "username and password" if is_own else "no username and password"
        raise invalid("credentials", f"of {row.provider} must have {form}")
    if "tokenUrl" in stored:
        check_token_url(str(stored["tokenUrl"]))
    if "submissionUrl" in stored:
        if server is None or not server.submits:
            submitting = (code for code, other in catalogue.CONNECTORS.items() if _submits(other))
            raise invalid("credentials.submissionUrl", f"is for {', '.join(submitting)} alone")
        check_submission_url(str(stored["submissionUrl"]))
    connection_rows.replace(row, stored, keyring)


def _delegated_scopes(row: ConnectionRow, stored: Mapping[str, Any]) -> list[str]:
    """
    Return the scopes that a service account asks for: those of the connection, without identity.

    Raises:
        InvalidInput: The provider has no delegation, the key is not valid, the account is another
            than the connection's, or no scopes are named.
    """
    from providers.oauth.delegation import private_key  # noqa: PLC0415 - few connections need it

    consent = catalogue.CONSENTS.get(row.provider)
    if consent is None or not consent.has_delegation:
        raise invalid("credentials.subject", f"is not for {row.provider}")
    if str(stored["subject"]).casefold() != row.account_email.casefold():
        raise invalid("credentials.subject", "must be accountEmail")
    try:
        private_key(str(stored["privateKey"]))
    except ValueError as failure:
        raise invalid("credentials.privateKey", f"is {failure}") from None
    scopes = [scope for scope in row.granted_scopes if scope not in IDENTITY]
    if not scopes:
        raise invalid("grantedScopes", "must name the scopes that the domain delegates")
    return scopes


def can_submit(row: ConnectionRow, keyring: Keyring) -> bool:
    """Return whether mail of an own server can be sent, and so be changed."""
    connector = catalogue.CONNECTORS[row.provider]
    return _submits(connector) and "submissionUrl" in connection_rows.unseal(row, keyring)


def _submits(connector: Connector) -> bool:
    return connector.own_server is not None and connector.own_server.submits
