"""Job 2: connect an account by consent, password, API token or a client of its own; test it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Response
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.console.forms import Form, SentForm
from gateway.console.jobs.accounts import show_consent, test_and_show
from gateway.console.router import Person, Router, Visit, Visiting
from gateway.operations import resources, views
from gateway.operations.connections import NewConnection
from gateway.operations.overviews.ways import ServiceWay, Way, ways
from gateway.operations.server_discovery import search
from gateway.operations.server_discovery import views as discovery_views
from gateway.operations.server_discovery.search import ServerSearch
from gateway.operations.validation import invalid, validated
from policy.refusals import NotFound

if TYPE_CHECKING:
    from gateway.services import Services

_FORM = "/accounts/new/{person_id}/{kind}/{provider}/{way}"

router = Router()


@router.get("/accounts/new/{person_id}")
async def choose_way(visit: Visiting, person: Person) -> Response:
    """Ask for the service, and how it is connected."""
    listed = [*ways(visit.services.endpoints.has_client)]
    return visit.page("account_ways.html", "Connect an account", person=person, ways=listed)


async def _chosen(visit: Visiting, kind: str, provider: str, way: str) -> ServiceWay:
    for known in ways(visit.services.endpoints.has_client):
        if known[:2] == (kind, provider) and known.way == way and not known.missing:
            return known
    raise NotFound("There is no such way to connect an account.")


Chosen = Annotated[ServiceWay, Depends(_chosen)]


@router.get(_FORM)
async def ask(visit: Visiting, person: Person, way: Chosen) -> Response:
    """Ask for the account."""
    return await _show(visit, person, way)


@router.post(_FORM)
async def connect(visit: Visiting, form: SentForm, person: Person, way: Chosen) -> Response:
    """Connect the account: it is tested, or its owner consents."""
    members: dict[str, Any] = {"operatorId": person.id, "accountEmail": form.text("accountEmail")}
    members |= {"kind": way.kind, "provider": way.provider}
    if way.way == Way.PASSWORD:
        discovery = await _discover(visit.services, form, way.kind)
        server = discovery.mail if way.kind == "email" else discovery.calendar
        if server is None or not server.signed_in:
            return await _show(visit, person, way, discovery=discovery, form=form, status=400)
        members["baseUrl"] = server.base_url
        members["credentials"] = {"username": server.username, "password": form.text("secret")}
        sending = getattr(server, "submission_url", None)
        if sending:
            members["credentials"]["submissionUrl"] = sending
    elif way.way != Way.CONSENT:
        members |= _credentials(form, way.way)
    made = await _create(visit, form, members)
    if way.way == Way.CONSENT:
        return await show_consent(visit, made.id)
    return await test_and_show(visit, made.id)


def _credentials(form: Form, way: str) -> dict[str, Any]:
    """Return the members of an API token, or of a client that acts for itself."""
    if way == Way.API_TOKEN:
        return {"credentials": {"apiToken": form.text("secret")}}
    client = {"clientId": form.text("clientId"), "clientSecret": form.text("secret")}
    return {
        "mode": "selected_sites",
        "grantedScopes": ["Sites.Selected"],
        "selectedSiteIds": form.text("sites").split(),
        "credentials": {**client, "tenant": form.text("tenant")},
    }


async def _show(visit: Visit, person: views.Operator, way: ServiceWay, **values: Any) -> Response:
    async with visit.database.reading() as session:
        linked = await resources.of_operator(session, person.id)
    names = {resource.id: resource.name for resource in linked}
    values |= {"person": person, "names": names, "way": way}
    return visit.page("new_account.html", f"Connect {way.product}", **values)


async def _create(visit: Visit, form: Form, new: Mapping[str, Any]) -> views.Connection:
    async def create(session: AsyncSession) -> views.Connection:
        resource_id = await _resource(session, form, new["operatorId"])
        wanted = validated(NewConnection, {**new, "resourceId": resource_id})
        # Until it has answered, or its owner has consented, no call may use it.
        return await visit.connections.create(session, wanted, status="needs_reauth")

    return await visit.write(create)


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
