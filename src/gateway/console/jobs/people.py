"""People, whose accounts are connected: found, added, and a page with all that one has."""

from typing import TYPE_CHECKING, Any

from fastapi import Request, Response

from gateway.console import pages
from gateway.console.forms import SentForm
from gateway.console.router import Job, Router
from gateway.http.request_services import AppServices
from gateway.management.connections import Service
from gateway.operations import operators, resources, tokens
from gateway.operations.operators import NewOperator
from gateway.operations.resources import NewResource
from gateway.operations.validation import validated
from gateway.store.conflicts import retried
from policy.refusals import InvalidInput

if TYPE_CHECKING:
    from gateway.services import Services

SHOWN = 25  # people of a page

router = Router()
JOB = Job("/people", "People", "Their accounts and tokens on one page, and new people.", router)


@router.get("/people")
async def list_people(request: Request, services: AppServices, q: str = "") -> Response:
    """List people by the beginning of their address, the first ones without it."""
    return await choose(request, services, title=JOB.title, action="/people/", q=q)


@router.post("/people")
@retried
async def add_person(services: AppServices, form: SentForm) -> Response:
    """Add a person, and a resource for their accounts."""
    new = validated(
        NewOperator, {"email": form.text("email"), "displayName": form.text("displayName")}
    )
    async with services.database.writing() as session:
        person = await operators.create(session, new)
        await session.flush()
        named = {"name": new.email[:100], "operatorIds": [person.id]}
        await resources.create(session, validated(NewResource, named))
    action = form.text("action")
    if action not in ACTIONS:
        raise InvalidInput("The form does not say what comes next.")
    return pages.redirect(f"{action}{person.id}")


@router.get("/people/{person_id}")
async def show_person(
    request: Request, services: AppServices, service: Service, person_id: str
) -> Response:
    """Show the accounts and the tokens of a person."""
    async with services.database.reading() as session:
        person = await operators.read(session, person_id)
        accounts = await service.list_all(session, operator_id=person.id, limit=SHOWN + 1)
        listed = await tokens.list_newest(session, operator_id=person.id, limit=SHOWN + 1)
    return pages.page(
        request,
        "person.html",
        title=person.display_name,
        person=person,
        accounts=accounts,
        tokens=listed,
        shown=SHOWN,
    )


# The pages that begin with a person, whose id is their last segment.
ACTIONS = ("/people/", "/tokens/new/", "/accounts/new/")


async def choose(
    request: Request, services: "Services", *, title: str, action: str, q: str, **values: Any
) -> Response:
    """Return the page on which a person is chosen or added, for the page that *action* begins."""
    text = q.strip()[:320]
    async with services.database.reading() as session:
        listed = (
            await operators.list_named(session, text, limit=SHOWN + 1)
            if text
            else await operators.list_all(session, limit=SHOWN + 1)
        )
    return pages.page(
        request,
        "people.html",
        title=title,
        action=action,
        people=listed,
        shown=SHOWN,
        q=text,
        **values,
    )
