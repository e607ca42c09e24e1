"""Readable text of messages (docs/spec/readable-text.md), each made once per request."""

import asyncio

import msgspec

from graph.context import Context
from graph.emails.enums import BodyType
from providers.mail.message_parts import text_to_html
from providers.readable_text.quoted_history import readable_body
from providers.records.mail import Email

_SHORT = 2000  # characters that cost less than a change to another thread


async def text_of(context: Context, email: Email, *, quoted: bool) -> str | None:
    """
    Return the readable text of a message that was read with its body; None without a body.

    *quoted*: whether quotations and signatures stay.
    """
    if email.body is None:
        return None
    key = (email.body, email.body_type, email.subject, quoted)
    if key not in context.texts:
        context.texts[key] = asyncio.ensure_future(_text(*key))
    return await asyncio.shield(context.texts[key])


async def with_body_as(
    context: Context, email: Email, body_type: BodyType, *, quoted: bool
) -> Email:
    """Return a message that was read with its body, with the body in the format *body_type*."""
    if body_type is BodyType.TEXT:
        body = await text_of(context, email, quoted=quoted)
    elif email.body_type == body_type:
        return email
    else:
        body = text_to_html(email.body or "")
    return msgspec.structs.replace(email, body=body, body_type=body_type.value)


async def _text(body: str, body_type: str | None, subject: str | None, quoted: bool) -> str:  # noqa: FBT001
    is_html = body_type == "html"
    if len(body) <= _SHORT:
        return readable_body(body, is_html=is_html, quoted=quoted, subject=subject)
    return await asyncio.to_thread(
        readable_body, body, is_html=is_html, quoted=quoted, subject=subject
    )
