"""A page by hand: dicts, the mask in between, orjson. What a careful Starlette handler does."""

from collections.abc import Collection
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from providers.mail.merged_mailbox import MailPage
from providers.records.mail import Email, Participant

_OPTIONS = orjson.OPT_UTC_Z


def page(found: MailPage, hidden: Collection[str], access_info: str | None) -> bytes:
    """Write a page whose records are ready."""
    answer: dict[str, Any] = {
        "emails": [_email(one, hidden) for one in found.emails],
        "totalCount": found.total,
        "hasMore": found.has_more,
        "nextPageToken": None,
    }
    if access_info:
        answer["accessInfo"] = access_info
    return orjson.dumps(answer, option=_OPTIONS)


async def handler(request: Request) -> Response:
    """Answer as a Starlette route; the page is in the application's state."""
    state = request.app.state
    return Response(
        page(state.page, state.hidden, state.access_info), media_type="application/json"
    )


def _email(one: Email, hidden: Collection[str]) -> dict[str, Any]:
    return {
        "id": one.id,
        "threadId": one.thread_id,
        "subject": None if "Email.subject" in hidden else one.subject,
        "from": None if "Email.from" in hidden or one.from_ is None else _person(one.from_),
        "to": None if "Email.to" in hidden else [_person(each) for each in one.to or ()],
        "cc": None if "Email.cc" in hidden else [_person(each) for each in one.cc or ()],
        "bcc": None if "Email.bcc" in hidden else [_person(each) for each in one.bcc or ()],
        "bodyPreview": None if "Email.bodyPreview" in hidden else one.body_preview,
        "body": None if "Email.body" in hidden else one.body,
        "bodyType": None if "Email.bodyType" in hidden else one.body_type,
        "sentAt": None if "Email.sentAt" in hidden else one.sent_at,
        "receivedAt": None if "Email.receivedAt" in hidden else one.received_at,
        "isRead": one.is_read,
        "hasAttachments": one.has_attachments,
        "attachments": None
        if "Email.attachments" in hidden
        else [
            {
                "id": each.id,
                "name": each.name,
                "contentType": each.content_type,
                "size": each.size,
                "isInline": each.is_inline,
            }
            for each in one.attachments or ()
        ],
        "labels": None if "Email.labels" in hidden else one.labels,
        "importance": None if "Email.importance" in hidden else one.importance,
        "provider": one.provider,
    }


def _person(one: Participant) -> dict[str, Any]:
    return {"email": one.email, "name": one.name}
