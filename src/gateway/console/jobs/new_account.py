"""Job 2: connect an account by consent, by a password or by an API token, and test it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import Request, Response
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.console import pages
from gateway.console.forms import Form, SentForm
from gateway.console.jobs import people
from gateway.console.jobs.accounts import show_consent, test_and_show
from gateway.console.router import Job, Router
from gateway.http.request_services import AppServices
from gateway.management.connections import Service
from gateway.operations import operators, resources, views
from gateway.operations.connections import ConnectionService, NewConnection
from gateway.operations.server_discovery import search
from gateway.operations.server_discovery import views as discovery_views
from gateway.operations.server_discovery.search import ServerSearch
from gateway.operations.validation import invalid, validated
from gateway.provider_settings import client_variables
from gateway.store.conflicts import retried
from policy.refusals import NotFound
from providers.catalogue.tables import CONNECTORS, CONSENTS, SERVICES

if TYPE_CHECKING:
    from gateway.services import Services

CONSENT, API_TOKEN, PASSWORD = "consent", "api-token", "password"

router = Router()
JOB = Job(
    "/accounts/new", "Connect an account", "By consent, password or API token, with a test.", router
)


class _Way(NamedTuple):
    """
    A way to connect an account of a service.

    Attributes:
        missing: The settings that it needs; empty: it can be used.
    """

    kind: str
    provider: str
    product: str
    way: str
    missing: tuple[str, ...] = ()


@router.get(JOB.path)
async def choose_person(request: Request, services: AppServices, q: str = "") -> Response:
    """Ask whose account it is."""
    return await people.choose(request, services, title=JOB.title, action=f"{JOB.path}/", q=q)


@router.get(f"{JOB.path}/{{person_id}}")
async def choose_way(request: Request, services: AppServices, person_id: str) -> Response:
    """Ask for the service, and how it is connected."""
    async with services.database.reading() as session:
        person = await operators.read(session, person_id)
    ways = _ways(services)
    return pages.page(request, "account_ways.html", title=JOB.title, person=person, ways=ways)


@router.get(f"{JOB.path}/{{person_id}}/{{kind}}/{{provider}}/{{way}}")
async def ask(  # noqa: PLR0913, PLR0917 - the parts of the path
    request: Request, services: AppServices, person_id: str, kind: str, provider: str, way: str
) -> Response:
    """Ask for the account."""
    return await _form(request, services, person_id, _way(services, kind, provider, way))


@router.post(f"{JOB.path}/{{person_id}}/{{kind}}/{{provider}}/{{way}}")
async def connect(  # noqa: PLR0913, PLR0917 - the parts of the path
    request: Request,
    services: AppServices,
    service: Service,
    form: SentForm,
    person_id: str,
    kind: str,
    provider: str,
    way: str,
) -> Response:
    """Connect the account: it is tested, or its owner consents."""
    chosen = _way(services, kind, provider, way)
    members: dict[str, Any] = {}
    if way == API_TOKEN:
        members["credentials"] = {"apiToken": form.text("secret")}
    elif way == PASSWORD:
        discovery = await _discover(services, form, kind)
        server = discovery.mail if kind == "email" else discovery.calendar
        if server is None or not server.signed_in:
            return await _form(
                request, services, person_id, chosen, discovery=discovery, form=form, status=400
            )
        members["baseUrl"] = server.base_url
        members["credentials"] = {"username": server.username, "password": form.text("secret")}
        sending = getattr(server, "submission_url", None)
        if sending:
            members["credentials"]["submissionUrl"] = sending
    new = {
        "operatorId": person_id,
        "kind": kind,
        "provider": provider,
        "accountEmail": form.text("accountEmail"),
        **members,
    }
    made = await _create(services, service, form, new)
    if way == CONSENT:
        return await show_consent(request, services, made.id)
    return await test_and_show(request, services, service, made.id)


def _ways(services: "Services") -> list[_Way]:
    """Return every way to connect an account, those of vendors first."""
    ways = []
    for (kind, provider), service in SERVICES.items():
        if CONNECTORS[provider].own_server is not None:
            ways.append(_Way(kind, provider, service.product, PASSWORD))
            continue
        if provider in CONSENTS:
            has_client = services.endpoints.has_client(provider)
            missing = () if has_client else client_variables(provider)
            ways.append(_Way(kind, provider, service.product, CONSENT, missing))
        if kind == "tasks":
            ways.append(_Way(kind, provider, service.product, API_TOKEN))
    return ways


def _way(services: "Services", kind: str, provider: str, way: str) -> _Way:
    for known in _ways(services):
        if (known.kind, known.provider, known.way) == (kind, provider, way) and not known.missing:
            return known
    raise NotFound("There is no such way to connect an account.")


async def _form(
    request: Request, services: "Services", person_id: str, way: _Way, **values: Any
) -> Response:
    async with services.database.reading() as session:
        person = await operators.read(session, person_id)
        linked = await resources.of_operator(session, person.id)
    return pages.page(
        request,
        "new_account.html",
        title=f"Connect {way.product}",
        person=person,
        resources=linked,
        way=way,
        **values,
    )


@retried
async def _create(
    services: "Services", service: ConnectionService, form: Form, new: Mapping[str, Any]
) -> views.Connection:
    async with services.database.writing() as session:
        resource_id = await _resource(session, form, new["operatorId"])
        wanted = validated(NewConnection, {**new, "resourceId": resource_id})
        # Until it has answered, or its owner has consented, no call may use it.
        return await service.create(session, wanted, status="needs_reauth")


async def _resource(session: AsyncSession, form: Form, person_id: str) -> int:
    """Return the resource that the form names; the only one of the person if it names none."""
    if form.text("resource"):
        return form.number("resource")
    linked = await resources.of_operator(session, person_id)
    if len(linked) != 1:
        raise invalid("resource", "must be chosen")
    return linked[0].id


async def _discover(services: "Services", form: Form, kind: str) -> discovery_views.ServerDiscovery:
    """Search for the server of the address and try the password there; nothing is stored."""
    server = form.text("server") or None
    members = {
        "accountEmail": form.text("accountEmail"),
        "kinds": [kind],
        "username": form.text("username") or None,
        "password": form.text("secret"),
        "confirmedHosts": form.texts("confirmed"),
        "baseUrl" if kind == "email" else "calendarUrl": server,
    }
    wanted = validated(ServerSearch, members)
    dns_server = services.settings.dns_server
    return discovery_views.view(await search.run(services.accounts, wanted, dns_server=dns_server))
