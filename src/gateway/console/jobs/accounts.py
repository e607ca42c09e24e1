"""Job 3: the accounts; one is tested, reconnected, or its owner gets a link."""

from typing import TYPE_CHECKING, Any

from fastapi import Request, Response

from gateway.audit.changes import log_change
from gateway.console import pages
from gateway.console.forms import SentForm
from gateway.console.router import Id, Job, Router
from gateway.http.oauth_pages import callback_url
from gateway.http.request_services import AppServices
from gateway.management.connections import Service
from gateway.operations import operators, rows, views
from gateway.operations.connections import ConnectionService, NewReconnectLink
from gateway.operations.connections import check_view as view_of_check
from gateway.operations.validation import validated
from gateway.store.conflicts import retried
from gateway.store.tables import ConnectionRow
from providers.catalogue.tables import CONNECTORS

if TYPE_CHECKING:
    from gateway.services import Services

SHOWN = 50
UNUSABLE = ("needs_reauth", "error", "disabled")

router = Router()
JOB = Job("/accounts", "Reconnect an account", "Now, or by a one-time link for its owner.", router)


@router.get(JOB.path)
async def list_accounts(
    request: Request, services: AppServices, service: Service, after: int = 0
) -> Response:
    """List the accounts that cannot be used, and all by their ids."""
    unusable: list[views.Connection] = []
    async with services.database.reading() as session:
        listed = await service.list_all(session, after=after, limit=SHOWN + 1)
        for status in UNUSABLE if not after else ():
            unusable += await service.list_all(session, status=status, limit=SHOWN)
    return pages.page(
        request, "accounts.html", title=JOB.title, unusable=unusable, accounts=listed, shown=SHOWN
    )


@router.get("/accounts/{account_id:int}")
async def show_account(
    request: Request, services: AppServices, service: Service, account_id: Id
) -> Response:
    """Show an account, and what can be done with it."""
    return await _show(request, services, service, account_id)


@router.post("/accounts/{account_id:int}/test")
async def try_account(
    request: Request, services: AppServices, service: Service, account_id: Id, _form: SentForm
) -> Response:
    """Test an account with one harmless read."""
    return await test_and_show(request, services, service, account_id)


@router.post("/accounts/{account_id:int}/check")
async def check_account(
    request: Request, services: AppServices, service: Service, account_id: Id, _form: SentForm
) -> Response:
    """Check what can be checked of an account without changing anything in it."""
    checked = view_of_check(await services.accounts.check(await _row(services, account_id)))
    return await _show(request, services, service, account_id, checked=checked)


@router.post("/accounts/{account_id:int}/reconnect")
async def reconnect(
    request: Request, services: AppServices, account_id: Id, _form: SentForm
) -> Response:
    """Begin a new consent."""
    return await show_consent(request, services, account_id)


@router.post("/accounts/{account_id:int}/link")
async def make_link(
    request: Request, services: AppServices, service: Service, account_id: Id, form: SentForm
) -> Response:
    """Make a one-time link for the account's owner."""
    new = validated(NewReconnectLink, {"hours": form.number("hours")})
    link = await services.one_time_links.create(account_id, hours=new.hours)
    view = views.ReconnectLink.of(link)
    return await _show(request, services, service, account_id, link=view)


@router.post("/accounts/{account_id:int}/secret")
async def replace_secret(
    request: Request, services: AppServices, service: Service, account_id: Id, form: SentForm
) -> Response:
    """Store another password or API token of an account, and test it."""
    await _replace(services, service, account_id, form.text("secret"))
    services.accounts.forget(account_id)
    return await test_and_show(request, services, service, account_id)


async def test_and_show(
    request: Request, services: "Services", service: ConnectionService, account_id: int
) -> Response:
    """Test an account, and show the result with it."""
    tested = await services.accounts.test(await _row(services, account_id))
    return await _show(request, services, service, account_id, tested=tested)


async def show_consent(request: Request, services: "Services", account_id: int) -> Response:
    """Begin a consent, and show where the account's owner gives it."""
    redirect_uri = callback_url(services.settings.base_url)
    started = await services.oauth.start(account_id, redirect_uri=redirect_uri)
    await log_change(services.database, "reconnectConnection", account_id)
    row = await _row(services, account_id)
    return pages.page(
        request, "consent.html", title="The owner consents", started=started, account=row
    )


@retried
async def _replace(
    services: "Services", service: ConnectionService, account_id: int, secret: str
) -> None:
    async with services.database.writing() as session:
        await service.replace_secret(session, account_id, secret)


async def _row(services: "Services", account_id: int) -> ConnectionRow:
    async with services.database.reading() as session:
        return await rows.get(session, ConnectionRow, account_id)


async def _show(
    request: Request,
    services: "Services",
    service: ConnectionService,
    account_id: int,
    **values: Any,
) -> Response:
    async with services.database.reading() as session:
        account = await service.read(session, account_id)
        people = await operators.list_by_id(session, [account.operator_id])
    is_own = CONNECTORS[account.provider].own_server is not None
    return pages.page(
        request,
        "account.html",
        title=account.account_email,
        account=account,
        person=people[0] if people else None,
        can_consent=account.mode != "selected_sites"
        and services.endpoints.has_client(account.provider),
        secret="Password" if is_own else "API token" if account.kind == "tasks" else "",
        **values,
    )
