"""The context that all parts of a connection share, and the reads they have in common."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from providers.connectors.collab.failures import classify
from providers.connectors.collab.paging import PageReader
from providers.connectors.collab.ttl_cache import ConnectionCache
from providers.failures import Broken, Missing, ProviderFailure, ReadOnlyGrant, Refused
from providers.http.client import Upstream
from providers.http.response import Response
from providers.ports.connection import ConnectionInfo

V1 = "v1.0"
BETA = "beta"
SELECTED_SITES = "selected_sites"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """One connection with its upstream client and cache."""

    info: ConnectionInfo
    upstream: Upstream
    pages: PageReader
    cache: ConnectionCache

    @property
    def is_selected(self) -> bool:
        """Whether the connection is app-only and sees selected sites alone."""
        return self.info.mode == SELECTED_SITES

    async def read(
        self, shape: type[T], *segments: str, params: Sequence[tuple[str, str]] = ()
    ) -> T:
        """
        Read one object.

        Raises:
            Missing: There is none, it may not be seen, or upstream has no ids of this form.
        """
        try:
            answer = await self.upstream.call("GET", V1, *segments, params=params)
        except Refused as refusal:
            raise translate_refused_read(refusal) from refusal
        return await answer.decoded(shape)

    @contextmanager
    def translate_refused_writes(self) -> Iterator[None]:
        """
        Translate the refusal of a change in a selected site that the app may only read.

        Raises:
            ReadOnlyGrant: Upstream denies access to a change of what the connection can read.
        """
        try:
            yield
        except Refused as refusal:
            is_denied = refusal.status == 403 and refusal.word == "accessDenied"
            if self.is_selected and is_denied and type(refusal) is Refused:
                raise ReadOnlyGrant(status=403, word=refusal.word) from refusal
            raise


def translate_refused_read(refusal: Refused) -> ProviderFailure:
    """Return Missing for a read that is refused with 400 or 403, else the refusal itself."""
    return Missing() if refusal.status in (400, 403) else refusal


def batched_read_failure(answer: Response) -> ProviderFailure | None:
    """
    Return the failure of one read of a batch.

    Returns:
        None when the answer has the object; Missing when there surely is nothing to be seen;
        another failure when that is not known.
    """
    if 200 <= answer.status < 300:
        return None
    failure = classify(answer)
    if isinstance(failure, Missing) or answer.status in (404, 410):
        return Missing()
    if isinstance(failure, Refused):
        return translate_refused_read(failure)
    return failure or Broken()


def if_match(etag: str | None) -> Mapping[str, str]:
    """Return the header that makes a change conditional on *etag*."""
    return {"if-match": etag} if etag else {}
