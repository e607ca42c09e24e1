"""Client of monday.com's GraphQL endpoint: docs/spec/upstream/monday.md#endpoint."""

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from providers.connectors.boards.failures import (
    Envelope,
    GraphqlError,
    graphql_errors,
    main_failure,
)
from providers.failures import Locked, Throttled
from providers.http.client import READ_SECONDS, Upstream
from providers.http.response import decode_json

VERSION = "2026-10"  # without the header, the account's current version answers
_HEADERS = {"api-version": VERSION}
_PAUSES = (0.2, 0.6)  # seconds before a write to a board that is locked is repeated

T = TypeVar("T")


class BoardClient:
    """One account's endpoint."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def read(self, document: str, shape: type[T], **variables: object) -> T:
        """
        Run a query and decode its data as *shape*.

        Raises:
            ProviderFailure: The response has an error, also beside data.
        """
        data, errors = await self._send(document, variables, reads=True)
        if errors:
            raise self._failure(errors)
        return _decode(data, shape)

    async def write(
        self, document: str, shape: type[T], **variables: object
    ) -> tuple[T, tuple[GraphqlError, ...]]:
        """
        Run a mutation; a board that is locked is tried three times.

        Returns:
            The data, and the errors of single fields: each has a path into the data.

        Raises:
            ProviderFailure: An error concerns the whole document: nothing was done.
        """
        pauses = iter(_PAUSES)
        while True:
            data, errors = await self._send(document, variables, reads=False)
            if not errors:
                return _decode(data, shape), errors
            failure = self._failure(errors)
            if all(error.path for error in errors) and not isinstance(failure, Throttled | Locked):
                return _decode(data, shape), errors
            pause = next(pauses, None)
            if not isinstance(failure, Locked) or pause is None or _has_result(data):
                raise failure
            await asyncio.sleep(pause)

    async def _send(
        self, document: str, variables: Mapping[str, object], *, reads: bool
    ) -> tuple[msgspec.Raw, tuple[GraphqlError, ...]]:
        response = await self._upstream.call(
            "POST",
            "v2",
            json={"query": document, "variables": variables},
            headers=_HEADERS,
            retry=reads,
            changes=not reads,
            deadline=READ_SECONDS if reads else None,
        )
        envelope = await response.decoded(Envelope)
        errors = graphql_errors(envelope, retry_after=response.headers.get("retry-after"))
        if errors:  # without the data beside them
            text = "; ".join(f"{error.code} {error.message}" for error in errors)
            self._upstream.collect(structs.replace(response, body=text.encode("utf-8", "replace")))
        return envelope.data, errors

    def _failure(self, errors: tuple[GraphqlError, ...]) -> Exception:
        failure = main_failure(errors)
        if isinstance(failure, Throttled):
            return self._upstream.throttled(failure.named)
        return failure


def _has_result(data: msgspec.Raw) -> bool:
    """Whether some field of a mutation has a result."""
    fields: Any = msgspec.json.decode(data)
    return isinstance(fields, dict) and any(value is not None for value in fields.values())


def _decode(data: msgspec.Raw, shape: type[T]) -> T:
    return decode_json(b"{}" if bytes(data) == b"null" else data, shape)
