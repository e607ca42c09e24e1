"""
The same three calls as a plain FastAPI application.

Every request looks its token up (`stores`), is counted against its address and its token, returns
the rate limit headers, reads the documented parameters, omits masked fields when the models are
built, and answers by its response model. The application does nothing else: no request id, no
metrics, no log, no retries, deadlines or circuit breaker around the upstream call.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import orjson
from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.routing import APIRoute, serialize_response
from httpx import AsyncClient

from benchmarks.baselines import models
from benchmarks.baselines.stores import Store, Token
from benchmarks.baselines.windows import SlidingWindows, Windows

PLENTY: Windows = ((10**9, 60), (10**9, 3600))  # counted, and never reached
SELECT_B = (
    "id,receivedDateTime,isDraft,parentFolderId,conversationId,subject,from,sender,toRecipients,"
    "ccRecipients,bccRecipients,bodyPreview,sentDateTime,isRead,hasAttachments,categories,importance"
)
EXPAND_B = "attachments($select=id,name,contentType,size,isInline)"
SELECT_EVENT = (
    "id,start,end,isCancelled,subject,body,location,isAllDay,showAs,organizer,attendees,"
    "onlineMeeting,onlineMeetingUrl,categories,type"
)
LABELS = {"INBOX": "INBOX", "Label_1": "Home"}


def build(
    client: AsyncClient | None,
    store: Store,
    *,
    base: str = "",
    provider: str = "b",
    windows: Windows = PLENTY,
    known: Mapping[str, Any] | None = None,
) -> FastAPI:
    """
    Build the application.

    Args:
        client: HTTP client for upstream; None when *known* has the response.
        store: The tokens.
        base: Base URL of upstream.
        provider: Provider of the mailbox: "a" or "b".
        windows: Rate limits of an address; when empty, nothing is counted.
        known: Decoded response of upstream, used without a client.
    """
    app = FastAPI()
    limiter = SlidingWindows()

    async def caller(
        request: Request, response: Response, authorization: Annotated[str, Header()]
    ) -> Token:
        token = store.find(authorization)
        if windows and request.client is not None:
            charges = ((request.client.host, windows), (f"token {token.id}", token.windows))
            rate_headers = limiter.take(charges)
            if rate_headers is None:
                raise HTTPException(429)
            response.headers.update(rate_headers)
        return token

    async def read(token: Token, path: str, params: Sequence[tuple[str, str]] = ()) -> Any:
        if client is None:
            return known
        headers = {"authorization": f"Bearer {token.upstream}"}
        answer = await client.get(base + path, params=list(params), headers=headers)
        return orjson.loads(answer.raise_for_status().content)

    @app.get("/api/access/email/messages", response_model=models.EmailPage)
    async def list_emails(
        token: Annotated[Token, Depends(caller)],
        *,
        q: str | None = None,
        from_: Annotated[str | None, Query(alias="from")] = None,
        to: str | None = None,
        subject: str | None = None,
        label: str | None = None,
        unread: bool | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        hasAttachment: bool | None = None,  # noqa: N803
        limit: Annotated[int, Query(ge=1)] = 20,
        includeBody: bool = False,  # noqa: N803
        pageToken: str | None = None,  # noqa: N803
    ) -> Any:
        if provider == "a":
            return await _page_a(read, token, limit)
        answer = await read(token, "/v1.0/me/messages", _params_b(limit))
        return page_b([answer], token, limit)

    @app.get("/api/access/email/messages/{emailId}", response_model=models.EmailAnswer)
    async def get_email(
        token: Annotated[Token, Depends(caller)],
        emailId: str,  # noqa: N803
        *,
        includeBody: bool = True,  # noqa: N803
    ) -> Any:
        native = emailId.removeprefix("providerB:")
        params = (("$select", f"{SELECT_B},body"), ("$expand", EXPAND_B))
        return one_b(await read(token, f"/v1.0/me/messages/{native}", params), token)

    return app


async def _page_a(read: Any, token: Token, limit: int) -> models.EmailPage:
    """Read a page: one call for the ids, one for each message."""
    import asyncio

    root = "/gmail/v1/users/me/messages"
    listed = await read(token, root, (("maxResults", str(limit)),))
    ids = [message["id"] for message in listed["messages"]]
    messages = await asyncio.gather(
        *(read(token, f"{root}/{id}", (("format", "full"),)) for id in ids)  # noqa: A001
    )
    return page_a(messages, token, limit)


def _params_b(limit: int) -> tuple[tuple[str, str], ...]:
    return (
        ("$select", SELECT_B),
        ("$expand", EXPAND_B),
        ("$top", str(limit)),
        ("$orderby", "receivedDateTime desc"),
        ("$count", "true"),
    )


# -- the bodies of the endpoints, also measured without HTTP


def page_b(answers: Sequence[Mapping[str, Any]], token: Token, limit: int) -> models.EmailPage:
    """Build the page of one or several mailboxes."""
    wires = [wire for answer in answers for wire in answer["value"]]
    if len(answers) > 1:
        wires.sort(key=lambda wire: wire["receivedDateTime"], reverse=True)
    page = models.page(
        [models.email_b(wire, token.hidden) for wire in wires[:limit]],
        limit=limit,
        access_info=token.access_info,
    )
    page.totalCount, page.hasMore = len(wires), len(wires) > limit
    return page


def page_a(answers: Sequence[Mapping[str, Any]], token: Token, limit: int) -> models.EmailPage:
    """Build the page from messages that were read one by one."""
    emails = [models.email_a(wire, token.hidden, LABELS) for wire in answers]
    return models.page(emails, limit=limit, access_info=token.access_info)


def one_b(answer: Mapping[str, Any], token: Token) -> models.Email:
    """Build the response of one message."""
    email = models.email_b(answer, token.hidden, models.EmailAnswer)
    email.accessInfo = token.access_info  # type: ignore[attr-defined]
    return email


def events_b(
    answers: Sequence[Mapping[str, Any]],
    token: Token,
    place: str,
    email: str,
    span: Sequence[datetime],
) -> models.EventPage:
    """Build the page of all events, earliest first."""
    wires = [wire for answer in answers for wire in answer["value"]]
    events = [models.event_b(wire, place, token.hidden) for wire in wires]
    events.sort(key=lambda event: (event.startUtc, event.id))
    meta = models.EventPageMeta(
        count=len(events),
        offset=0,
        totalCount=len(events),
        hasMore=False,
        from_=span[0],
        to=span[1],
    )
    return models.EventPage(
        events=events, accessInfo=token.access_info, currentUserCalendarEmail=email, meta=meta
    )


class Sends:
    """Serialiser of an endpoint's result to bytes, by FastAPI's own functions."""

    def __init__(self, model: Any) -> None:
        app = FastAPI()

        async def endpoint() -> Any:
            return None

        app.get("/", response_model=model)(endpoint)
        routes = [route for route in app.routes if isinstance(route, APIRoute)]
        self._field = routes[-1].response_field

    async def __call__(self, page: Any) -> bytes:
        """Return the validated page as JSON."""
        body = await serialize_response(
            field=self._field, response_content=page, is_coroutine=True, dump_json=True
        )
        assert isinstance(body, bytes)
        return body
