"""The endpoints of sign-in: metadata, the page, tokens, revocation, registration."""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus, urlsplit

import orjson
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from msgspec.structs import replace

from gateway.http.request_services import AppServices
from gateway.http.request_state import request_state
from gateway.operations.validation import validated
from gateway.ratelimit.buckets import AGENTS_PATH
from gateway.sign_in import clients, grants, metadata, page, requests
from gateway.sign_in.client_documents import shown
from gateway.sign_in.clients import NewClient
from gateway.sign_in.failures import SignInFailed
from gateway.sign_in.requests import AuthorizationRequest
from gateway.sign_in.views import RegisteredClient
from gateway.store.conflicts import retried
from gateway.store.database import Database
from policy.caller import Caller
from policy.refusals import InvalidInput, NotFound, Refusal, Unauthenticated
from rest_compat.body import parse, read_body
from rest_compat.unknown_paths import NOTHING

if TYPE_CHECKING:
    from gateway.services import Services

MAX_FORM = 32 * 1024  # bytes

router = APIRouter(include_in_schema=False)


async def _charge(request: Request, services: AppServices) -> None:
    """Charge the client address like a wrong credential: strangers ask here."""
    await services.entry.charge_unauthenticated(request.scope)


async def _read_form(request: Request) -> Mapping[str, str]:
    """
    Return the members of the form in the body.

    Raises:
        SignInFailed: It cannot be read.
        Refusal: It is too large or too late.
    """
    declared = request.headers.get("content-length")
    body = await read_body(request.receive, declared=declared, limit=MAX_FORM)
    return requests.parameters(body.decode("latin-1"))


_CHARGED = [Depends(_charge)]
_EXCHANGES: Mapping[str, Callable[[Database, str, Mapping[str, str]], Awaitable[grants.Tokens]]] = (
    MappingProxyType({"authorization_code": grants.redeem, "refresh_token": grants.refresh})
)


def install(app: FastAPI) -> None:
    """Add the endpoints to *app*, and how their refusals are told: a page, or a JSON object."""
    app.include_router(router)
    app.add_exception_handler(SignInFailed, _refuse)


async def _refuse(request: Request, failure: Exception) -> Response:
    if not isinstance(failure, SignInFailed):
        raise failure
    if request.url.path == metadata.PAGE:
        return page.notice("Nothing was granted", failure.message, status=failure.status)
    body = {"error": failure.error, "error_description": failure.message}
    response = _json(body, status=failure.status)
    if failure.status == 401:
        response.headers["WWW-Authenticate"] = 'Basic realm="access-gateway"'
    return response


# -- metadata -------------------------------------------------------------------------------------


@router.get(metadata.RESOURCE_METADATA)
async def describe_gateway(services: AppServices) -> Mapping[str, Any]:
    """Return the metadata of the whole gateway as a protected resource."""
    return metadata.resource_document(services.settings.base_url, "")


@router.get(f"{metadata.RESOURCE_METADATA}{AGENTS_PATH}")
async def describe_agents(services: AppServices) -> Mapping[str, Any]:
    """Return the metadata of the tools of agents as a protected resource."""
    return metadata.resource_document(services.settings.base_url, AGENTS_PATH)


@router.get(metadata.SERVER_METADATA)
async def describe_server(services: AppServices) -> Mapping[str, Any]:
    """Return the metadata of the authorization server."""
    settings = services.settings
    return metadata.server_document(
        settings.base_url,
        documents=settings.client_documents,
        registration=settings.client_registration,
    )


# -- the page -------------------------------------------------------------------------------------


@router.get(metadata.PAGE, dependencies=_CHARGED)
async def ask(request: Request, services: AppServices) -> HTMLResponse:
    """Show who asks, and ask the person for a token."""
    asked = await requests.read(services, request.url.query)
    return page.ask_for_proof(asked, services.keyring)


@router.get(f"{metadata.PAGE}/{{link}}", dependencies=_CHARGED)
async def explain_link() -> HTMLResponse:
    """Tell the person with a one-time link what it is for; opening it uses nothing up."""
    text = "Copy the address of this page. Begin to connect in your app, and paste it where this "
    return page.notice("A one-time link", f"{text}gateway asks for a token.")


@router.post(metadata.PAGE, dependencies=_CHARGED)
async def answer(request: Request, services: AppServices) -> Response:
    """Take what the person answered: a proof, a grant, or a refusal."""
    _require_own_page(request, services)
    sent = await _read_form(request)
    asked = requests.unseal(services.keyring, sent.get("request", ""))
    if sent.get("answer") == "decline":
        return _redirect(services, asked, error="access_denied")
    if asked.token_id is None:
        return await _prove(request, services, asked, sent.get("token", "").strip())
    if sent.get("answer") != "grant":
        raise SignInFailed("invalid_request", "The answer must be grant or decline.")
    return await _grant(request, services, asked, sent)


async def _prove(
    request: Request, services: "Services", asked: AuthorizationRequest, text: str
) -> Response:
    """Show what the person with the token or one-time link *text* can grant."""
    try:
        caller, link = await _caller_of(services, text)
    except Unauthenticated as refusal:
        return page.ask_for_proof(asked, services.keyring, error=refusal.message, status=403)
    if caller.audience is not None:
        error = "This token was granted to an app. Use a token of yours."
        return page.ask_for_proof(asked, services.keyring, error=error, status=403)
    if link is None and not caller.grant.allow_children:
        error = (
            "This token may not hand on rights: its setting allowChildren is off. Ask your "
            "operator to switch it on, or for a one-time link."
        )
        return page.ask_for_proof(asked, services.keyring, error=error, status=403)
    proved = replace(asked, token_id=caller.token_id, key_id=caller.key_id, link=link)
    request_state(request.scope).token_id = caller.token_id
    return await _consent(proved, services, caller)


async def _consent(
    asked: AuthorizationRequest, services: "Services", caller: Caller, *, error: str = ""
) -> HTMLResponse:
    # Off the event loop: the settings of a token may have a thousand international domains.
    return await asyncio.to_thread(
        page.ask_for_consent, asked, services.keyring, caller, error=error
    )


async def _caller_of(services: "Services", text: str) -> tuple[Caller, bytes | None]:
    """
    Return the caller of a token or a one-time link, and the digest of the link.

    Raises:
        Unauthenticated: It is neither, or has ended.
    """
    link = grants.digest_of(text.removeprefix(f"{services.settings.base_url}{metadata.PAGE}/"))
    token = await grants.token_of_link(services.database, link)
    if token is not None:
        authenticator = services.authenticator
        return await authenticator.authenticate_holder(token.id or 0, token.key_id), link
    header = (b"authorization", b"Bearer " + text.encode("utf-8", "replace"))
    return await services.authenticator.authenticate([header]), None


async def _grant(
    request: Request, services: "Services", asked: AuthorizationRequest, sent: Mapping[str, str]
) -> Response:
    """Make the child token, and send the person back with a code."""
    try:
        holder = services.authenticator.authenticate_holder
        caller = await holder(asked.token_id or 0, asked.key_id)
        usable = [each.id for each in caller.connections if not caller.excludes(each)]
        chosen = [id_ for id_ in usable if f"account-{id_}" in sent]
        preset, days = sent.get("preset", ""), sent.get("days", "")
        if not chosen:
            error = "Choose at least one account."
            return await _consent(asked, services, caller, error=error)
        if preset not in metadata.scopes_of(asked.path) or days not in page.LIFETIMES:
            raise SignInFailed("invalid_request", "The form must name a preset and a lifetime.")
        with grants.acting(f"token {asked.token_id}", request_state(request.scope).request_id):
            code = await grants.approve(
                services.database,
                asked,
                preset=preset,
                days=None if days == page.WHOLE else int(days),
                connections=None if chosen == usable else chosen,
            )
    except Refusal as refusal:
        return page.notice("Nothing was granted", refusal.message, status=403)
    return _redirect(services, asked, code=code)


def _require_own_page(request: Request, services: "Services") -> None:
    """
    Refuse a form that a page of another site sends.

    Raises:
        SignInFailed: Its origin is not the gateway's.
    """
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "same-origin")
    own = urlsplit(services.settings.base_url)
    if site != "same-origin" or origin not in (None, f"{own.scheme}://{own.netloc}"):
        raise SignInFailed("invalid_request", "This form was sent by another site.", status=403)


def _redirect(services: "Services", asked: AuthorizationRequest, **parameters: str) -> Response:
    target = asked.redirect(services.settings.base_url, **parameters)
    return RedirectResponse(target, status_code=303)


# -- what clients call ----------------------------------------------------------------------------


@router.post(metadata.TOKEN, dependencies=_CHARGED)
async def token(request: Request, services: AppServices) -> Response:
    """Exchange a code or a refresh token for tokens (RFC 6749)."""
    sent = await _read_form(request)
    client_id = await _client_of(request, services, sent)
    exchange = _EXCHANGES.get(sent.get("grant_type", ""))
    if exchange is None:
        message = "The grant_type must be authorization_code or refresh_token."
        raise SignInFailed("unsupported_grant_type", message)
    with grants.acting(f"client {client_id}", request_state(request.scope).request_id):
        return _json(await exchange(services.database, client_id, sent))


@router.post(metadata.REVOKE, dependencies=_CHARGED)
async def revoke(request: Request, services: AppServices) -> Response:
    """End the grant of a token (RFC 7009)."""
    sent = await _read_form(request)
    client_id = await _client_of(request, services, sent)
    with grants.acting(f"client {client_id}", request_state(request.scope).request_id):
        await grants.revoke(services.database, client_id, sent.get("token", ""))
    return Response(status_code=200)


@router.post(metadata.REGISTER, dependencies=_CHARGED)
async def register(request: Request, services: AppServices) -> Response:
    """Register a public client that asks for it (RFC 7591), where the setting allows that."""
    if not services.settings.client_registration:
        raise NotFound(NOTHING)
    declared = request.headers.get("content-length")
    document = parse(await read_body(request.receive, declared=declared, limit=MAX_FORM))
    sent = document if isinstance(document, dict) else {}
    members = {"name": shown(sent.get("client_name")), "redirectUris": sent.get("redirect_uris")}
    try:
        new = validated(NewClient, members)
    except InvalidInput as refusal:
        raise SignInFailed("invalid_redirect_uri", refusal.message) from None

    @retried
    async def add() -> RegisteredClient:
        async with services.database.writing() as session:
            return await clients.add(session, new, by_itself=True)

    with grants.acting("registration", request_state(request.scope).request_id):
        made = await add()
    described = {
        "client_id": made.client_id,
        "client_id_issued_at": made.created_at // 1000,
        "client_name": made.name,
        "redirect_uris": made.redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    return _json(described, status=201)


async def _client_of(request: Request, services: "Services", sent: Mapping[str, str]) -> str:
    """
    Return the id of the client that calls.

    Raises:
        SignInFailed: It is not known, or does not prove its secret.
    """
    client_id, secret = sent.get("client_id", ""), sent.get("client_secret")
    basic = request.headers.get("authorization")
    if basic is not None:
        name, secret = _read_basic(basic)
        if client_id not in ("", name) or "client_secret" in sent:
            raise SignInFailed("invalid_client", "The client names itself in two ways.", status=401)
        client_id = name
    return await clients.authenticate(services, client_id, secret)


def _read_basic(header: str) -> tuple[str, str]:
    """Return the id and the secret of a client in an `Authorization` header (RFC 6749, 2.3.1)."""
    scheme, _, encoded = header.partition(" ")
    try:
        credential = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        credential = ""
    name, colon, secret = credential.partition(":")
    if scheme.lower() != "basic" or not colon:
        raise SignInFailed("invalid_client", "The credential is not a Basic one.", status=401)
    return unquote_plus(name), unquote_plus(secret)


def _json(body: Mapping[str, Any], *, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")
