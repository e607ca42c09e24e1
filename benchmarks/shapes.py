"""CPU of the shape of a token: made for the first time, and known (docs/spec/graphql.md#shape)."""

import time
from collections.abc import Callable, Mapping

import orjson
from graphql import GraphQLSchema

from benchmarks.table import Figure
from gateway.http import api_descriptions
from graph import schema
from graph.shape import build_shape, shape_of
from policy.caller import Caller
from policy.grants import Grant, validate
from policy.settings import DEFAULTS
from policy.vocabulary import Surface
from providers.ports.connection import ConnectionInfo
from rest_compat.openapi.shape import shape_openapi

TIMES = 9  # of which the fastest counts: the shape is the same each time
_EVERYTHING: Mapping[str, object] = {
    "emailAccessEnabled": True,
    "allowedEmailOperations": ["all"],
    "calendarAccessEnabled": True,
    "calendarAccessLevel": "full_access",
    "allowedTaskOperations": ["all"],
    "collabAccessEnabled": True,
    "allowedCollabOperations": ["all"],
}
# The largest shape: every operation, and every field masked.
_MASKED = {**_EVERYTHING, **{name: [] for name in DEFAULTS if name.startswith("visible")}}
_MAIL_READER = {
    "emailAccessEnabled": True,
    "allowedEmailOperations": ["search_emails", "view_email"],
}


def figures() -> list[Figure]:
    """Measure the largest shape, and how much of the schema a mail reader is shown."""
    largest, reader = _caller(_MASKED), _caller(_MAIL_READER, Surface.EMAIL)
    whole = schema.build()
    shaped = shape_of(whole, largest)
    api_descriptions.access_description()  # describes the whole, once per process

    def make() -> None:
        build_shape.cache_clear()
        shape_of(whole, largest)

    def know() -> None:
        shape_of(whole, largest)

    share = len(api_descriptions.shaped_sdl(shape_of(whole, reader))) / len(schema.sdl().encode())
    return [
        Figure("largest shape, made", _milliseconds(make), "ms"),
        Figure("the same as SDL", _milliseconds(lambda: schema.sdl_of(shaped)), "ms"),
        Figure("the same as OpenAPI", _milliseconds(lambda: _openapi(shaped)), "ms"),
        Figure("shape that is known", _milliseconds(know), "ms"),
        Figure("SDL of a mail reader, of the whole", 100 * share, "%"),
    ]


def _openapi(shaped: GraphQLSchema) -> bytes:
    return orjson.dumps(shape_openapi(api_descriptions.access_description(), shaped))


def _milliseconds(work: Callable[[], object]) -> float:
    """Return the CPU time of *work*."""
    fastest = float("inf")
    for _ in range(TIMES):
        started = time.process_time()
        work()
        fastest = min(fastest, time.process_time() - started)
    return 1000 * fastest


def _caller(settings: Mapping[str, object], *surfaces: Surface) -> Caller:
    """Return a caller with connections for *surfaces*, or for all of them."""
    return Caller(
        token_id=1,
        token_name="benchmark",  # noqa: S106 - a name
        key_id="abcdefgh",
        expires_at=None,
        policy_rev=1,
        operator_id="operator",
        grant=Grant.read(validate(settings)),
        settings=settings,
        connections=tuple(
            ConnectionInfo(id=at, resource_id=1, kind=surface, provider="PROVIDER_A")
            for at, surface in enumerate(surfaces or Surface, 1)
        ),
    )
