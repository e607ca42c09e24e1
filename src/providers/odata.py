"""OData as provider B and the collaboration content speak it: structures and JSON batching."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, TypeVar, cast

import msgspec

from providers.failures import Broken
from providers.http.client import Upstream
from providers.http.response import Response

MAX_BATCH = 20  # requests in one batch call


class CamelStruct(msgspec.Struct, rename="camel", gc=False):
    """Base of decoded responses; members that were not selected keep their defaults."""


S = TypeVar("S", bound=msgspec.Struct)


def with_members(
    kind: type[S], members: AbstractSet[str], types: Mapping[str, Any] = MappingProxyType({})
) -> type[S]:
    """
    Return *kind* with some of its JSON members: the others are skipped, not decoded.

    Their attributes have their defaults, which must be constants. *types* replaces the types of
    attributes.
    """
    fields = msgspec.structs.fields(kind)
    field_of: Any = msgspec.field  # typed for one kind of default at a time
    decoded = [field for field in fields if field.encode_name in members]
    properties = {name: value for name, value in vars(kind).items() if isinstance(value, property)}
    narrowed: Any = msgspec.defstruct(
        kind.__name__,
        [
            (
                field.name,
                types.get(field.name, field.type),
                field_of(
                    default=field.default,
                    default_factory=field.default_factory,
                    name=field.encode_name,
                ),
            )
            for field in decoded
        ],
        namespace=properties
        | {field.name: field.default for field in fields if field not in decoded},
        gc=False,
    )
    return cast("type[S]", narrowed)


class BatchResponse(CamelStruct):
    """The response to one request of a batch."""

    id: str
    status: int
    headers: dict[str, str] | None = None
    body: msgspec.Raw = msgspec.Raw(b"null")


class _BatchResponses(CamelStruct):
    responses: tuple[BatchResponse, ...] = ()


async def call_batch(
    upstream: Upstream, requests: Sequence[Mapping[str, Any]], *, changes: bool, weight: int = 1
) -> list[Response]:
    """
    Send requests in one ``$batch`` call.

    Args:
        upstream: Where the batch goes.
        requests: At most `MAX_BATCH`: ``method``, ``url`` below the version, ``headers``.
        changes: As `Upstream.call`.
        weight: As `Upstream.call`.

    Returns:
        One answer per request, in their order, whatever their status.

    Raises:
        Broken: The responses are not those of the requests.
        ProviderFailure: The whole batch failed.
    """
    numbered = [{"id": str(number), **request} for number, request in enumerate(requests)]
    answer = await upstream.call(
        "POST",
        "v1.0",
        "$batch",
        json={"requests": numbered},
        retry=True,
        changes=changes,
        weight=weight,
    )
    responses = {response.id: response for response in answer.decode(_BatchResponses).responses}
    if responses.keys() != {request["id"] for request in numbered}:
        raise Broken
    return [_answer(responses[request["id"]]) for request in numbered]


def _answer(response: BatchResponse) -> Response:
    headers = {name.lower(): value for name, value in (response.headers or {}).items()}
    return Response(response.status, headers, bytes(response.body))
