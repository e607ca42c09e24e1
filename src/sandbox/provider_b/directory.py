"""Endpoints of the user and of the master list of categories."""

from dataclasses import replace
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

from sandbox.http import Request, Response
from sandbox.mail.ids import PROVIDER_B
from sandbox.mail.store import Account, Label
from sandbox.provider_b.endpoint import USER, UserCall, UserEndpoints
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.schema import Kind, Shape
from sandbox.provider_b.responses import GraphError, not_found, ok
from sandbox.state import SandboxState

_USER = Shape(
    name="microsoft.graph.user",
    members=dict.fromkeys(
        (
            "id",
            "displayName",
            "givenName",
            "surname",
            "mail",
            "userPrincipalName",
            "jobTitle",
            "mobilePhone",
            "officeLocation",
            "preferredLanguage",
            "proxyAddresses",
        ),
        Kind.STRING,
    ),
)
_CATEGORY = Shape(
    name="microsoft.graph.outlookCategory",
    members=dict.fromkeys(("id", "displayName", "color"), Kind.STRING),
)
_COLORS = frozenset(("none", *(f"preset{number}" for number in range(25))))
_READ_OTHERS = ("User.ReadBasic.All", "User.Read.All", "User.ReadWrite.All")
_READ_USER = ("User.Read", "User.ReadWrite", *_READ_OTHERS)
_INSUFFICIENT = "Insufficient privileges to complete the operation."
_READ_SETTINGS = ("MailboxSettings.Read", "MailboxSettings.ReadWrite")


TENANT_ID = str(uuid5(NAMESPACE_DNS, "tenant.example"))


def user_id(email: str) -> str:
    """Return the object id of the user with a primary address."""
    return str(uuid5(NAMESPACE_DNS, email))


def write_user(request: Request, account: Account) -> Response:
    """
    Return the user as Graph does, with the members that ``$select`` names.

    Raises:
        GraphError: The token may not read the user.
    """
    if not _has_any(request, _READ_USER):
        raise GraphError(403, "Authorization_RequestDenied", _INSUFFICIENT)
    options = query_options.parse(request.query, _USER, expandable={})
    given_name, _, surname = account.name.rpartition(" ")
    record: dict[str, Any] = {
        "@odata.context": f"{request.public}/v1.0/$metadata#users/$entity",
        "businessPhones": [],
        "displayName": account.name,
        "givenName": given_name or None,
        "jobTitle": None,
        "mail": account.email,
        "mobilePhone": None,
        "officeLocation": None,
        "preferredLanguage": None,
        "surname": surname or None,
        "userPrincipalName": account.principal_name,
        "id": user_id(account.email),
    }
    if "proxyAddresses" in request.first("$select"):  # not among the default members
        addresses = [f"smtp:{address}" for address in account.aliases]
        record["proxyAddresses"] = [f"SMTP:{account.email}", *addresses]
    return ok(query_options.select_members(record, options.select, always=()))


class DirectoryEndpoints:
    """The endpoints of the user and of the user's categories."""

    def __init__(self, state: SandboxState, mailbox: str = PROVIDER_B) -> None:
        self._mails = state.mails
        self._store = state.database
        self._mailbox = mailbox

    def add_routes(self, endpoints: UserEndpoints) -> None:
        """Add the routes."""
        add = endpoints.routes.add
        add("GET", USER, self.user)
        add("GET", "/outlook/masterCategories", self.categories)
        add("POST", "/outlook/masterCategories", self.add_category)
        add("GET", "/outlook/masterCategories/{category}", self.category)

    def user(self, call: UserCall) -> Response:
        """``GET /me`` and ``GET /users/{id}``."""
        if call.rights is not None and not _has_any(call.request, _READ_OTHERS):
            raise GraphError(403, "Authorization_RequestDenied", _INSUFFICIENT)
        return write_user(call.request, replace(self._account(call), name=call.user.name))

    def _account(self, call: UserCall) -> Account:
        """Return the account that the token was issued to, or the one of the path."""
        owner, grant = self._mails.account(self._mailbox), call.request.grant
        is_me = "me" in call.request.segments
        if not is_me or grant is None or owner.has_address(grant.account):
            return owner
        return Account(grant.account, owner.name)

    def categories(self, call: UserCall) -> Response:
        """``GET /outlook/masterCategories``."""
        call.require_scope(*_READ_SETTINGS)
        options = query_options.parse(call.request.query, _CATEGORY, expandable={})
        records = [self._record(user_label) for user_label in self._mails.user_labels(PROVIDER_B)]
        page = query_options.cut_page(
            query_options.filter_and_sort(records, options), options, top=None
        )
        return ok(
            {
                "@odata.context": call.odata_context("outlook/masterCategories"),
                "value": [query_options.select_members(record, options.select) for record in page],
            }
        )

    def category(self, call: UserCall, category: str) -> Response:
        """``GET /outlook/masterCategories/{id}``."""
        call.require_scope(*_READ_SETTINGS)
        for user_label in self._mails.user_labels(PROVIDER_B):
            if user_label.id == category:
                context = call.odata_context("outlook/masterCategories/$entity")
                return ok({"@odata.context": context, **self._record(user_label)})
        raise not_found()

    def add_category(self, call: UserCall) -> Response:
        """``POST /outlook/masterCategories``: 201, or 409 when the name is taken."""
        call.require_scope("MailboxSettings.ReadWrite")
        wanted = call.json()
        name, color = wanted.get("displayName"), wanted.get("color", "none")
        if not isinstance(name, str) or not name or color not in _COLORS:
            raise GraphError(400, "RequestBodyRead", "A category has a displayName and a color.")
        taken = {user_label.name.casefold() for user_label in self._mails.user_labels(PROVIDER_B)}
        if name.casefold() in taken:
            raise GraphError(409, "ErrorCategoryNameAlreadyExists", "The category exists already.")
        label = self._mails.add_label(PROVIDER_B, name)
        self._store.set_meta(f"category-color:{label.id}", color)
        context = call.odata_context("outlook/masterCategories/$entity")
        return ok({"@odata.context": context, **self._record(label)}, 201)

    def _record(self, label: Label) -> dict[str, Any]:
        color = self._store.meta(f"category-color:{label.id}", "none")
        return {"id": label.id, "displayName": label.name, "color": color}


def _has_any(request: Request, scopes: tuple[str, ...]) -> bool:
    grant = request.grant
    have = {scope.rsplit("/", 1)[-1] for scope in (grant.scopes if grant else ())}
    return bool(have.intersection(scopes))
