"""People, whose accounts are connected: found, added, and a page with all that one has."""

from fastapi import Response
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.console import pages
from gateway.console.forms import SentForm
from gateway.console.router import Person, Router, Visiting
from gateway.operations import operators, resources, tokens, views
from gateway.operations.operators import NewOperator
from gateway.operations.resources import NewResource
from gateway.operations.validation import validated
from policy.refusals import InvalidInput

SHOWN = 25  # people of a page
# The pages that begin with a person, whose id is the last segment of what follows.
ACTIONS = ("/people", "/tokens/new", "/accounts/new")

router = Router()


@router.get("/people")
@router.get("/tokens/new")
@router.get("/accounts/new")
async def choose(visit: Visiting, q: str = "") -> Response:
    """Find a person by the beginning of the address, or show the first ones, for what follows."""
    text = q.strip()[:320]
    async with visit.database.reading() as session:
        listed = (
            await operators.list_named(session, text, limit=SHOWN + 1)
            if text
            else await operators.list_all(session, limit=SHOWN + 1)
        )
    action = next(each for each in ACTIONS if visit.request.url.path.endswith(each))
    return visit.page("people.html", action=action, people=listed, shown=SHOWN, q=text)


@router.post("/people")
async def add_person(visit: Visiting, form: SentForm) -> Response:
    """Add a person, and a resource for their accounts."""
    members = {"email": form.text("email"), "displayName": form.text("displayName")}
    new, action = validated(NewOperator, members), form.text("action")
    if action not in ACTIONS:
        raise InvalidInput("The form does not say what comes next.")
    person = await visit.write(lambda session: _add(session, new))
    return pages.redirect(f"{action}/{person.id}")


async def _add(session: AsyncSession, new: NewOperator) -> views.Operator:
    person = await operators.create(session, new)
    await session.flush()
    named = {"name": new.email[:100], "operatorIds": [person.id]}
    await resources.create(session, validated(NewResource, named))
    return person


@router.get("/people/{person_id}")
async def show_person(visit: Visiting, person: Person) -> Response:
    """Show the accounts and the tokens of a person."""
    async with visit.database.reading() as session:
        accounts = await visit.connections.list_all(session, operator_id=person.id, limit=SHOWN + 1)
        listed = await tokens.list_newest(session, operator_id=person.id, limit=SHOWN + 1)
    more = {"person": person, "accounts": accounts, "tokens": listed, "shown": SHOWN}
    return visit.page("person.html", person.display_name, **more)


async def with_id(session: AsyncSession, person_id: str) -> views.Operator | None:
    """Return a person; None if there is none any more."""
    return next(iter(await operators.list_by_id(session, [person_id])), None)
