"""
The descriptor of a connector: what the rest of the gateway needs to know of it.

A descriptor is data. What takes code is named by a text `module:name` and imported with `resolve`
when the first account needs it: few deployments use all connectors, and together they are a tenth
of the start and 7 MB. Settings are named too, because `gateway` reads them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any

_NONE: Mapping[str, str] = MappingProxyType({})
_NO_WIDER: Mapping[str, Collection[str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Http:
    """
    The way in which the upstream is called: docs/spec/upstream/README.md#concurrency.

    Attributes:
        classify: `module:name` of a `providers.http.attempt.Classify`.
        concurrency: Concurrent calls of an account.
        content_hosts: Hosts of pre-authenticated addresses, or suffixes that start with a dot.
        scheme: Authentication scheme; "": the token alone.
        forbidden_may_lack_scope: Whether no code tells a missing scope from a missing right.
        from_origin: Whether calls begin at the origin of the base URL, not at its path.
    """

    classify: str
    concurrency: int
    content_hosts: tuple[str, ...] = ()
    scheme: str = "Bearer"
    forbidden_may_lack_scope: bool = False
    from_origin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """
    The vendor's authorization server; docs/spec/upstream/oauth.md.

    Attributes:
        vendor: Its name, for operators.
        client: Beginning of the settings `…_client_id` and `…_client_secret`.
        server: Beginning of the settings `…_url`, its token endpoint, and `…_authorize_url`.
        sandbox_path: Path of the sandbox's authorization server.
        has_tenants: Whether `…_url` is a login service with tenants, device flow and without
            revocation, as Microsoft's.
        parameters: Additional parameters of the authorization URL.
        login_hint: Whether the authorization URL may name the account.
        loopback_host: The host that a client registration accepts with plain http.
        json_body: Whether the token endpoint takes JSON.
        writing_scopes: Scopes that allow writes and whose names do not say so, in lower case.
        optional_scopes: Requested scopes that a connection works without, in lower case.
        wider_scopes: Scope -> the scopes that include it, by their last segment in lower case.
        full_scope: The scope for whatever the user may do.
        has_delegation: Whether a domain can let service accounts act for its people (RFC 7523).
        unused_days: Days without use after which a consent ends; None: it does not.
    """

    vendor: str
    client: str
    server: str
    sandbox_path: str
    has_tenants: bool = False
    parameters: Mapping[str, str] = field(default_factory=lambda: _NONE)
    login_hint: bool = False
    loopback_host: str = "localhost"
    json_body: bool = False
    writing_scopes: frozenset[str] = frozenset()
    optional_scopes: frozenset[str] = frozenset()
    wider_scopes: Mapping[str, Collection[str]] = field(default_factory=lambda: _NO_WIDER)
    full_scope: str | None = None
    has_delegation: bool = False
    unused_days: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServer:
    """
    A server of the account's owner, which a connection names with a username and a password.

    Attributes:
        protocol: Its name, for operators.
        example: An address of one.
        scheme: "https", or a protocol of `providers.imap.endpoints`.
        takes_tokens: Whether an access token may stand in place of the password.
        submits: Whether a second server, for outgoing mail, may be named.
    """

    protocol: str
    example: str
    scheme: str
    takes_tokens: bool = False
    submits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """
    One kind of account that a connector opens.

    Attributes:
        kind: "email", "calendar", "tasks" or "collab".
        product: The product's name, for operators and pages.
        port: `module:name` of a function: `Opening` -> port of the kind (`providers.ports`).
        checks: `module:name` of the checks of `connection check` (`providers.ports.checks`), or
            of a function: `Opening` -> findings.
        url_setting: The setting with the base URL; "": each connection names its own.
        read_scopes, write_scopes: Scopes to ask for; no *write_scopes*: the same to write.
        addresses: `module:name` of a function that reads the addresses of the account that signed
            in, where the scopes allow it: `Upstream` -> addresses.
        account: `module:name` of one that reads id and address: (origins, base URL, token).
        pushes: `module:name` of a function: `Opening` -> `providers.ports.pushes.PushPort`; "": it
            does not tell of changes.
        people: `module:name` of a function: `Opening` -> `providers.ports.people.PeoplePort`; "":
            it knows only the people in its messages.
        people_url_setting: The setting with the base URL of people, where they have their own.
        people_scopes: Scopes to ask for besides where the token is to find its people.
        shares: Whether one account reaches mailboxes or calendars that are shared with its owner,
            which `ConnectionInfo.shared_on` tells the port: docs/spec/shared-mailboxes.md.
        shared_read_scopes, shared_write_scopes: Scopes that these need, in place of the others.
    """

    kind: str
    product: str
    port: str
    checks: str
    url_setting: str = ""
    read_scopes: tuple[str, ...] = ()
    write_scopes: tuple[str, ...] = ()
    addresses: str = ""
    account: str = ""
    pushes: str = ""
    people: str = ""
    people_url_setting: str = ""
    people_scopes: tuple[str, ...] = ()
    shares: bool = False
    shared_read_scopes: tuple[str, ...] = ()
    shared_write_scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """
    A connector: the constant `CONNECTOR` of its package.

    Attributes:
        code: The provider's code, which clients see.
        name: The name in `authWarnings`, which clients see.
        services: What it opens.
        http: None: it is not called by `providers.http`.
        consent: None: accounts are connected without one.
        own_server: None: the server is the vendor's.
        sandbox_path: Path of the sandbox upstream.
        mail_prefix: Prefix of the ids of its mail: docs/spec/email.md#ids.
        mail_id: Pattern of its own ids, which follow the prefix.
        item_paths: Patterns of the paths of a task item's web address; the group is its id.
    """

    code: str
    name: str
    services: tuple[Service, ...]
    http: Http | None = None
    consent: Consent | None = None
    own_server: OwnServer | None = None
    sandbox_path: str = ""
    mail_prefix: str = ""
    mail_id: str = ""
    item_paths: tuple[str, ...] = ()


IDENTITY_OF_MICROSOFT = ("openid", "profile", "offline_access")
# Outlook and the collaboration content share a login service and its client.
MICROSOFT = Consent(
    vendor="Microsoft",
    client="provider_b",
    server="oauth_b",
    sandbox_path="provider-b",
    has_tenants=True,
    parameters=MappingProxyType({"response_mode": "query"}),
    login_hint=True,
    unused_days=90,
    writing_scopes=frozenset({"sites.selected"}),  # the grant is set per site
    optional_scopes=frozenset({"sensitivitylabel.read", "user.read"}),
    wider_scopes=MappingProxyType(
        {
            "mail.read": ("mail.readwrite",),
            "mail.read.shared": ("mail.readwrite.shared",),
            "calendars.read.shared": ("calendars.readwrite.shared",),
            "calendars.read": ("calendars.readwrite",),
            "user.read": ("user.readwrite", "user.read.all", "user.readwrite.all"),
            "files.read.all": ("files.readwrite.all",),
            "sites.read.all": ("sites.readwrite.all", "sites.manage.all", "sites.fullcontrol.all"),
            "sites.readwrite.all": ("sites.manage.all", "sites.fullcontrol.all"),
        }
    ),
)


def resolve(reference: str) -> Any:
    """Return what a text `module:name` of a descriptor names; imports its module."""
    return resolve_name(reference)
