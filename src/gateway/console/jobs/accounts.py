"""Job 3: the accounts; one is tested, reconnected, its owner gets a link, or its use ends."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Response
from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import log_change
from gateway.console import pages
from gateway.console.forms import SentForm
from gateway.console.jobs import people
from gateway.console.router import NO_PAGE, Id, Paged, Router, Visit, Visiting
from gateway.http.oauth_pages import callback_url
from gateway.operations import rows, views
from gateway.operations.connections import ConnectionChange, NewReconnectLink, check_view
from gateway.operations.validation import validated
from gateway.store.tables import ConnectionRow
from policy.refusals import NotFound
from providers.catalogue.tables import CONNECTORS

SHOWN = 50
UNUSABLE = ("needs_reauth", "error", "disabled")

router = Router()


@router.get("/accounts")
async def list_accounts(visit: Visiting, filters: Paged) -> Response:
    """List the accounts that cannot be used, and all by their ids."""
    pager, unusable = visit.pager(filters), list[views.Connection]()
    async with visit.database.reading() as session:
        listed = await visit.connections.list_all(session, after=pager.after_id, limit=pager.fetch)
        for status in UNUSABLE if pager.after is None else ():
            unusable += await visit.connections.list_all(session, status=status, limit=SHOWN)
    following = visit.following(pager, listed, "id")
    accounts = listed[: pager.limit]
    return visit.page("accounts.html", unusable=unusable, accounts=accounts, following=following)


@router.get("/accounts/{account_id:int}")
async def show_account(visit: Visiting, account_id: Id) -> Response:
    """Show an account, and what can be done with it."""
    return await _show(visit, account_id)


@router.post("/accounts/{account_id:int}/{step}")
async def act(visit: Visiting, account_id: Id, step: str, form: SentForm) -> Response:
    """Do what a button of the page of an account says, and show what came of it."""
    services, service = visit.services, visit.connections
    match step:
        case "test":
            return await test_and_show(visit, account_id)
        case "check":
            checked = await services.accounts.check(await _row(visit, account_id))
            return await _show(visit, account_id, checked=check_view(checked))
        case "reconnect":
            return await show_consent(visit, account_id)
        case "link":
            new = validated(NewReconnectLink, {"hours": form.number("hours")})
            link = await services.one_time_links.create(account_id, hours=new.hours)
            return await _show(visit, account_id, link=views.ReconnectLink.of(link))
        case "secret":
            secret = form.text("secret")
            await _change(
                visit, account_id, lambda s: service.replace_secret(s, account_id, secret)
            )
            return await test_and_show(visit, account_id)
        case "enable" | "disable":
            status = {"status": "active" if step == "enable" else "disabled"}
            change = validated(ConnectionChange, status)
            await _change(visit, account_id, lambda s: service.change(s, account_id, change))
            return pages.redirect(f"/accounts/{account_id}")
        case "remove":
            return await _remove(visit, account_id)
    raise NotFound(NO_PAGE)


async def _remove(visit: Visit, account_id: int) -> Response:
    """Remove an account with its credentials, and revoke its consent at the provider."""
    removed, revocations = await visit.services.revoker.remove(
        visit.database,
        col(ConnectionRow.id) == account_id,
        lambda session: visit.connections.remove(session, account_id),
    )
    visit.services.accounts.forget(account_id)
    words = [*revocations.values()]
    return visit.page("removed.html", "The account is removed", account=removed, revocations=words)


async def test_and_show(visit: Visit, account_id: int) -> Response:
    """Test an account, and show the result with it."""
    tested = await visit.services.accounts.test(await _row(visit, account_id))
    return await _show(visit, account_id, tested=tested)


async def show_consent(visit: Visit, account_id: int) -> Response:
    """Begin a consent, and show where the account's owner gives it."""
    redirect_uri = callback_url(visit.services.settings.base_url)
    started = await visit.services.oauth.start(account_id, redirect_uri=redirect_uri)
    await log_change(visit.database, "reconnectConnection", account_id)
    account = await _row(visit, account_id)
    return visit.page("consent.html", "The owner consents", started=started, account=account)


async def _change(
    visit: Visit, account_id: int, change: Callable[[AsyncSession], Awaitable[views.Connection]]
) -> None:
    await visit.write(change)
    visit.services.accounts.forget(account_id)


async def _row(visit: Visit, account_id: int) -> ConnectionRow:
    async with visit.database.reading() as session:
        return await rows.get_connection(session, account_id)


async def _show(visit: Visit, account_id: int, **values: Any) -> Response:
    async with visit.database.reading() as session:
        account = await visit.connections.read(session, account_id)
        person = await people.with_id(session, account.operator_id)
    is_own = CONNECTORS[account.provider].own_server is not None
    has_client = visit.services.endpoints.has_client(account.provider)
    return visit.page(
        "account.html",
        account.account_email,
        account=account,
        person=person,
        can_consent=account.mode != "selected_sites" and has_client,
        secret="Password" if is_own else "API token" if account.kind == "tasks" else "",
        **values,
    )
