"""The bytes of files for the REST layer: failures of providers become refusals."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from graph import errors
from graph.context import Context
from policy.refusals import Refusal
from providers.failures import Missing, ProviderFailure
from rest_compat.responses import Content


class ContentFailed(Refusal):
    """The provider did not hand out the bytes of a file."""

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__(errors.message(failure), code=errors.code_of(failure))
        self.retry_after = getattr(failure, "retry_after", None)


@asynccontextmanager
async def open_content(context: Context) -> AsyncIterator[Content]:
    """
    Open the attachment that the operation found; enter, read and leave in one task.

    Raises:
        ContentFailed: The provider failed, or the operation found nothing.
    """
    try:
        if context.attachment is None:
            raise Missing
        known = context.attachment.attachment
        async with context.attachment.open() as content:
            yield Content(known.name, known.content_type, content.size, content.chunks)
    except ProviderFailure as failure:
        raise ContentFailed(failure) from failure
