"""The bytes of files for the REST layer: failures of providers become refusals."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from graph import errors
from graph.context import Context
from policy.vocabulary import Surface
from providers.failures import Missing, ProviderFailure
from rest_compat import ports


class OpenedContent(msgspec.Struct, frozen=True):
    """An opened file; see `rest_compat.ports.Content`."""

    name: str
    mime_type: str | None
    size: int | None
    chunks: AsyncIterator[bytes]


@asynccontextmanager
async def open_content(context: Context) -> AsyncIterator[ports.Content]:
    """
    Open the attachment that the operation found; enter, read and leave in one task.

    Raises:
        Problem: The provider failed, or the operation found nothing.
    """
    try:
        if context.attachment is None:
            raise Missing
        known = context.attachment.attachment
        async with context.attachment.open() as content:
            yield OpenedContent(known.name, known.content_type, content.size, content.chunks)
    except ProviderFailure as failure:
        extensions = errors.extensions(
            failure, surface=Surface.EMAIL, request_id=context.request_id
        )
        raise ports.Problem(errors.message(failure), extensions) from failure
