"""
Descriptions of REST and GraphQL: the whole of them, and the shape of a token.

See docs/spec/graphql.md#shape.
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from graphql import GraphQLSchema

from gateway.documents import prepared
from gateway.documents.described import DocumentDescriptions
from gateway.documents.stored import StoredDocuments
from gateway.version import API_VERSION
from graph import schema
from graph.context import Context
from graph.masking import guards
from graph.shape import CACHED, shape_of
from rest_compat.descriptions import Description
from rest_compat.table import ENDPOINTS

if TYPE_CHECKING:  # imported when the first description is asked for
    from rest_compat.openapi import document as rest_document


def access_document() -> dict[str, Any]:
    """Describe the documented paths of the four surfaces; the committed `openapi.json`."""
    return dict(access_description().document)


def operation_documents() -> dict[str, dict[str, Any]]:
    """Return the document of each documented call, and example variables, by operation name."""
    return {row.operation_name: row.translation() for row in _rows()}


def descriptions(stored: StoredDocuments) -> tuple[Description, ...]:
    """Return the calls that describe the shape of the token in use; *stored* is described too."""
    documents = DocumentDescriptions(
        stored, prepared.graph(), whole=access_description, flags=_flags
    )

    async def write_sdl(context: Context) -> bytes:
        return shaped_sdl(_shape(context))

    async def write_openapi(context: Context) -> bytes:
        caller = context.caller
        return await documents.of(_shape(context), caller.grant.documents)

    return (
        Description(
            path="/schema.graphql", content_type="text/plain; charset=utf-8", render=write_sdl
        ),
        Description(path="/openapi.json", content_type="application/json", render=write_openapi),
    )


@lru_cache(maxsize=CACHED)
def shaped_sdl(shape: GraphQLSchema) -> bytes:
    """Return *shape* as SDL."""
    return schema.sdl_of(shape).encode()


def _shape(context: Context) -> GraphQLSchema:
    return shape_of(schema.build(), context.caller)


def _rows() -> "list[rest_document.OperationDescription]":
    from rest_compat.openapi import document as rest_document  # noqa: PLC0415 - see above

    built = schema.build()
    return [rest_document.OperationDescription(endpoint, built) for endpoint in ENDPOINTS]


@cache
def access_description() -> "rest_document.Description":
    """Describe the documented paths, once per process, with what their shapes are made from."""
    from rest_compat.openapi import document as rest_document  # noqa: PLC0415 - see above

    return rest_document.build_openapi(
        ENDPOINTS, schema.build(), flags=_flags(), version=API_VERSION
    )


@cache
def _flags() -> Mapping[str, Sequence[str]]:
    return {
        name: [operation.value for operation in requirement.operations]
        for name, requirement in guards.requirements(schema.build()).items()
    }
