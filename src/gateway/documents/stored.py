"""
The stored documents, as requests find them.

Every request for one reads a counter that each change increments, and reads the list again when
the counter moved: a document that is removed is gone at the next request in every process
(docs/adr/0028-saved-documents-are-rows-of-the-table.md). The list has no texts; a document is read
and prepared for its first request. No other request reads anything of it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from gateway.auth.token_lookup import Row, RowReader
from gateway.documents import checks
from graph.documents.operations import Graph
from graph.documents.saved_operation import SavedOperation
from policy.refusals import InvalidInput, NotFound
from policy.vocabulary import Code, Layer
from rest_compat.errors import problem
from rest_compat.saved.document import SavedDocument
from rest_compat.saved.routes import Routes
from rest_compat.unknown_paths import NOTHING

_REVISION = "SELECT documents_rev FROM deployment"
_ALL = "SELECT id, name, method, path, status, digest FROM saved_documents ORDER BY id"
_TEXTS = (
    "SELECT id, name, method, path, status, digest, text, description "
    "FROM saved_documents ORDER BY id"
)
_TEXT = "SELECT text FROM saved_documents WHERE id = :id AND digest = :digest"


class DocumentList(msgspec.Struct, frozen=True):
    """
    The documents under one revision.

    Attributes:
        by_digest: The documents that have a text, by the digest of the text.
    """

    revision: int
    documents: Sequence[SavedDocument]
    routes: Routes
    by_digest: Mapping[str, Sequence[SavedDocument]]


class StoredDocuments:
    """`rest_compat.saved.endpoint.SavedDocuments` over the database. One per process."""

    def __init__(self, reader: RowReader, graph: Graph) -> None:
        self._reader = reader
        self._graph = graph
        self._list: DocumentList | None = None

    async def list(self) -> DocumentList:
        """
        Return the documents as they are stored now.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        # Read before the documents, which may be newer than the counter, but never older.
        ((revision,),) = await self._reader.rows(_REVISION, {})
        current = self._list
        if current is None or current.revision != revision:
            rows = await self._reader.rows(_ALL, {})
            self._list = current = _document_list(revision, rows)
        return current

    async def routes(self) -> Routes:
        """Return the routes; see `list`."""
        return (await self.list()).routes

    async def texts(self) -> Sequence[tuple[SavedDocument, str, str | None]]:
        """Return the documents, oldest first, with text and description; newer than `list`."""
        return [
            (_document(row[:-2]), row[-2], row[-1]) for row in await self._reader.rows(_TEXTS, {})
        ]

    async def text(self, document: SavedDocument) -> str | None:
        """Return the text of *document*; None: it was changed or removed meanwhile."""
        values = {"id": document.id, "digest": document.digest}
        rows = await self._reader.rows(_TEXT, values)
        return rows[0][0] if rows else None

    async def text_of(self, digest: str) -> str | None:
        documents = (await self.list()).by_digest.get(digest)
        return None if documents is None else await self.text(documents[0])

    async def names_of(self, digest: str) -> Sequence[str]:
        return [document.name for document in (await self.list()).by_digest.get(digest, ())]

    async def prepare(self, document: SavedDocument) -> tuple[str, SavedOperation]:
        text = await self.text(document)
        if text is None:
            raise NotFound(NOTHING, layer=Layer.INPUT)
        try:
            return text, checks.prepare(self._graph, text)
        except InvalidInput as refusal:
            message = f"The saved document {document.name} does not fit this version."
            details = [("document", refusal.message)]
            raise problem(Code.GRAPHQL_VALIDATION_FAILED, message, details=details) from None


def _document_list(revision: int, rows: Sequence[Row]) -> DocumentList:
    documents = [_document(row) for row in rows]
    by_digest: dict[str, list[SavedDocument]] = defaultdict(list)
    for document in documents:
        by_digest[document.digest].append(document)
    return DocumentList(revision, documents, Routes(documents), dict(by_digest))


def _document(row: Row) -> SavedDocument:
    row_id, name, method, path, status, digest = row
    return SavedDocument(
        id=row_id, name=name, method=method, path=path, status=status, digest=digest
    )
