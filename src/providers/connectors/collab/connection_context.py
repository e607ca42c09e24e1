"""What every part of a connection works with, and the calls they have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from providers.connectors.collab.failures import classify
from providers.connectors.collab.paging import PageReader
from providers.connectors.collab.ttl_cache import ConnectionCache
from providers.failures import Broken, Missing, ProviderFailure, Refused
from providers.http.client import Upstream
from providers.http.response import Response
from providers.ports.connection import ConnectionInfo

V1 = "v1.0"
BETA = "beta"
SELECTED_SITES = "selected_sites"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """One connection: who it is, the way to it, and what is remembered of it."""

    info: ConnectionInfo
    upstream: Upstream
    book: PageReader
    memory: ConnectionCache

    @property
    def selected(self) -> bool:
        """Whether only chosen sites may be seen."""
        return self.info.mode == SELECTED_SITES

    async def read(
        self,
        shape: type[T],
        *segments: str,
        params: Sequence[tuple[str, str]] = (),
    ) -> T:
        """
        Read one thing.

        Raises:
            Missing: There is none, or upstream says that we may not see it or that no id has this
                form: to the caller it is all the same.
        """
        try:
            answer = await self.upstream.call("GET", V1, *segments, params=params)
        except Refused as refusal:
            raise translate_refused_read(refusal) from refusal
        return answer.decode(shape)


def translate_refused_read(refusal: Refused) -> ProviderFailure:
    """Return what a refused read is: missing, unless something else is the matter."""
    return Missing() if refusal.status in (400, 403) else refusal


def batched_read_failure(answer: Response) -> ProviderFailure | None:
    """
    Say what a part of a batch of reads came to.

    Returns:
        None when it has what was asked for; Missing when there surely is nothing to be seen;
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
