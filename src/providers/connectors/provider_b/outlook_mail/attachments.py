"""An attachment of a message, and its bytes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from providers.connectors.provider_b.account_cache import PREFER
from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_mail import mapping
from providers.connectors.provider_b.outlook_mail.response_types import Attachment
from providers.failures import Missing
from providers.ports.mail import AttachmentContent, AttachmentFile

_ATTACHMENT_FIELDS = (("$select", "id,name,contentType,size,isInline"),)
_LINK = "#microsoft.graph.referenceAttachment"  # a link to a file elsewhere: it has no bytes


async def find_attachment(user: GraphUser, message_id: str, attachment_id: str) -> AttachmentFile:
    """
    Find an attachment of a message.

    Raises:
        Missing: There is no such message, it has no such attachment, or that has no bytes.
    """
    path = (*user.messages, message_id, "attachments", attachment_id)
    response = await user.upstream.call("GET", *path, params=_ATTACHMENT_FIELDS, headers=PREFER)
    attachment = response.decode(Attachment)
    if attachment.kind == _LINK:
        raise Missing

    @asynccontextmanager
    async def opened() -> AsyncIterator[AttachmentContent]:
        # A compressed response would not tell the size of the content; Graph's `size` includes
        # more than the content.
        headers = {**PREFER, "accept": "*/*", "accept-encoding": "identity"}
        async with user.upstream.stream("GET", *path, "$value", headers=headers) as streamed:
            length = streamed.headers.get("content-length", "")
            size = int(length) if length.isdecimal() and len(length) < 16 else None
            yield AttachmentContent(size, streamed.chunks)

    return AttachmentFile(mapping.attachment(attachment), opened)
