"""The stored documents in the OpenAPI description of a token."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import msgspec
import orjson
from graphql import GraphQLSchema

from gateway.documents import checks
from gateway.documents.stored import StoredDocuments
from graph.documents.operations import Graph
from graph.shape import CACHED
from policy.documents import DocumentRules
from policy.refusals import InvalidInput
from policy.vocabulary import Surface
from providers.bounded_map import BoundedMap
from rest_compat.saved.document import SavedDocument

if TYPE_CHECKING:  # imported when the first description is asked for
    from rest_compat.openapi.document import Description

MAX_BYTES = 32 * 1024 * 1024  # of all cached descriptions
_CHECKED = 2_048  # texts per shape; a deployment has at most 1,000

_Key = tuple[GraphQLSchema, DocumentRules | None]
_Text = tuple[SavedDocument, str, str | None]


class _Fit(msgspec.Struct, frozen=True):
    """Whether a shape has all of a document; *surface* is the first of root field and edges."""

    is_usable: bool
    surface: Surface | None = None


class DocumentDescriptions:
    """
    Describes the calls of tokens with the saved documents that they can run. One per process.

    A description is kept until a document changes. Documents are checked against a shape once, in
    a thread, so that a thousand of them hold up no other call.
    """

    def __init__(
        self,
        stored: StoredDocuments,
        graph: Graph,
        *,
        whole: "Callable[[], Description]",
        flags: Callable[[], Mapping[str, Sequence[str]]],
    ) -> None:
        """*whole* describes the documented calls; *flags* as in `with_saved`."""
        self._stored = stored
        self._graph = graph
        self._whole = whole
        self._flags = flags
        self._building = asyncio.Lock()
        self._revision: int | None = None
        self._descriptions: BoundedMap[_Key, bytes] = BoundedMap(CACHED)
        self._fits: WeakKeyDictionary[GraphQLSchema, BoundedMap[str, _Fit]] = WeakKeyDictionary()

    async def of(self, shape: GraphQLSchema, rules: DocumentRules | None) -> bytes:
        """
        Return the description of a token that has *shape* and is limited by *rules*, as JSON.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        current = await self._stored.list()
        self._forget_before(current.revision)
        key = (shape, rules)
        described = self._descriptions.get(key)
        if described is not None:
            self._descriptions.move_to_end(key)
            return described
        async with self._building:
            described = self._descriptions.get(key)
            if described is not None:
                return described
            texts = await self._stored.texts() if current.documents else []
            described = await asyncio.to_thread(self._describe, shape, rules, texts)
            if self._revision == current.revision:
                self._keep(key, described)
            return described

    def _forget_before(self, revision: int) -> None:
        if self._revision != revision:
            self._revision = revision
            self._descriptions.clear()

    def _keep(self, key: _Key, described: bytes) -> None:
        self._descriptions[key] = described
        size = sum(map(len, self._descriptions.values()))
        while size > MAX_BYTES:
            size -= len(self._descriptions.popitem(last=False)[1])

    def _describe(
        self, shape: GraphQLSchema, rules: DocumentRules | None, texts: Sequence[_Text]
    ) -> bytes:
        from rest_compat.openapi.saved import SavedRow, only_documents, with_saved  # noqa: PLC0415 - in a thread, for the first request
        from rest_compat.openapi.shape import shape_openapi  # noqa: PLC0415

        whole = self._whole()
        rows = [
            SavedRow(document=document, text=text, surface=fit.surface, description=description)
            for document, text, description in texts
            if (rules is None or rules.allows([document.name]))
            and (fit := self._fit(shape, document, text)).is_usable
        ]
        if rows:
            whole = with_saved(whole, rows, self._graph.schema, flags=self._flags())
        if rules is not None:
            whole = only_documents(whole)
        return orjson.dumps(shape_openapi(whole, shape))

    def _fit(self, shape: GraphQLSchema, document: SavedDocument, text: str) -> _Fit:
        fits = self._fits.setdefault(shape, BoundedMap(_CHECKED))
        fit = fits.get(document.digest)
        if fit is None:
            fit = fits[document.digest] = self._checked(shape, text)
        return fit

    def _checked(self, shape: GraphQLSchema, text: str) -> _Fit:
        try:
            operation = checks.prepare(self._graph, text)
        except InvalidInput:  # it was saved by another version
            return _Fit(is_usable=False)
        surface = next(iter(operation.surfaces), None)
        return _Fit(checks.outside(shape, operation) is None, surface)
