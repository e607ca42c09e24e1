"""A page written by hand: dicts with the mask applied, and orjson, as in a Starlette handler."""

from collections.abc import Collection
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from providers.mail.merging import MailPage
from providers.records.mail import Email, Participant

_OPTIONS = orjson.OPT_UTC_Z


def page(records: MailPage, hidden: Collection[str], access_info: str | None) -> bytes:
    """Return the JSON of a page of records."""
    answer: dict[str, Any] = {
        "emails": [_email(email, hidden) for email in records.emails],
        "totalCount": records.total,
        "hasMore": records.has_more,
        "nextPageToken": None,
    }
    if access_info:
        answer["accessInfo"] = access_info
    return orjson.dumps(answer, option=_OPTIONS)


async def handler(request: Request) -> Response:
    """Serve the page in the application's state as a Starlette route."""
    state = request.app.state
    return Response(
        page(state.page, state.hidden, state.access_info), media_type="application/json"
    )


def _email(email: Email, hidden: Collection[str]) -> dict[str, Any]:
    return {
        "id": email.id,
        "threadId": email.thread_id,
        "subject": None if "Email.subject" in hidden else email.subject,
        "from": None if "Email.from" in hidden or email.from_ is None else _person(email.from_),
        "to": None if "Email.to" in hidden else [_person(each) for each in email.to or ()],
        "cc": None if "Email.cc" in hidden else [_person(each) for each in email.cc or ()],
        "bcc": None if "Email.bcc" in hidden else [_person(each) for each in email.bcc or ()],
        "bodyPreview": None if "Email.bodyPreview" in hidden else email.body_preview,
        "body": None if "Email.body" in hidden else email.body,
        "bodyType": None if "Email.bodyType" in hidden else email.body_type,
        "sentAt": None if "Email.sentAt" in hidden else email.sent_at,
        "receivedAt": None if "Email.receivedAt" in hidden else email.received_at,
        "isRead": email.is_read,
        "hasAttachments": email.has_attachments,
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
            for each in email.attachments or ()
        ],
        "labels": None if "Email.labels" in hidden else email.labels,
        "importance": None if "Email.importance" in hidden else email.importance,
        "provider": email.provider,
    }


def _person(person: Participant) -> dict[str, Any]:
    return {"email": person.email, "name": person.name}
