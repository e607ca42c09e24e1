"""Searches for the mail and calendar servers of an address."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gateway.connections.accounts import Accounts
from gateway.operations.inputs import EmailAddress, Input, Secret, ShortText
from gateway.operations.validation import invalid
from providers.server_discovery.search import Discovery, Search
from providers.web_addresses import ascii_host

Kind = Literal["email", "calendar"]
MAX_CONFIRMED = 20


def _all_kinds() -> list[Kind]:
    return ["email", "calendar"]


def _host(text: str) -> str:
    try:
        return ascii_host(text.strip().rstrip(".")).lower()
    except UnicodeError:
        raise ValueError("must be a host name") from None


Host = Annotated[ShortText, AfterValidator(_host)]


class ServerSearch(Input):
    """A search for servers; its password is used for this search alone."""

    account_email: EmailAddress
    kinds: Annotated[list[Kind], Field(min_length=1, max_length=2)] = Field(
        default_factory=_all_kinds
    )
    username: Secret | None = None
    password: Secret | None = None
    access_token: Secret | None = None
    base_url: ShortText | None = None
    submission_url: ShortText | None = None
    calendar_url: ShortText | None = None
    confirmed_hosts: Annotated[list[Host], Field(max_length=MAX_CONFIRMED)] = Field(
        default_factory=list
    )


async def run(accounts: Accounts, wanted: ServerSearch, *, dns_server: str) -> Discovery:
    """
    Search, within `providers.server_discovery.discovery.SECONDS`.

    Raises:
        InvalidInput: The address or a server in *wanted* is not valid.
    """
    if wanted.password is not None and wanted.access_token is not None:
        raise invalid("accessToken", "and password exclude each other")
    search = Search(
        email=wanted.account_email,
        username=wanted.username or "",
        password=wanted.access_token or wanted.password,
        has_token=wanted.access_token is not None,
        mail="email" in wanted.kinds,
        calendar="calendar" in wanted.kinds,
        server=wanted.base_url or "",
        submission=wanted.submission_url or "",
        calendar_url=wanted.calendar_url or "",
        confirmed=frozenset(wanted.confirmed_hosts),
    )
    _check(search)
    return await accounts.discover(search, dns_server=dns_server)


def _check(search: Search) -> None:
    """Refuse an address or a server that is not valid, naming its member."""
    from gateway.operations.connections.addresses import https_url  # noqa: PLC0415 - it imports views
    from providers.imap.endpoints import Endpoint  # noqa: PLC0415 - few need it

    checks = (
        ("accountEmail", search.email, lambda: search.domain),
        ("baseUrl", search.server, lambda: Endpoint.parse(search.server, "imap")),
        ("submissionUrl", search.submission, lambda: Endpoint.parse(search.submission, "smtp")),
        ("calendarUrl", search.calendar_url, lambda: https_url(search.calendar_url)),
    )
    for member, text, parse in checks:
        try:
            _ = parse() if text else None
        except ValueError as failure:
            raise invalid(member, f"is not valid: {str(failure).rstrip('.')}") from None
