"""
Checks and writes the documents that a policy document changes.

They are checked against the documents after all of the changes, so documents may exchange their
paths, or take that of a removed one.
"""

from collections.abc import Collection, Iterable, Mapping

from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.documents import prepared
from gateway.operations.documents import collection
from gateway.operations.documents.collection import NamedDocument
from gateway.store.tables import SavedDocumentRow
from policy.refusals import Conflict, Detail, InvalidInput
from policy.vocabulary import Code
from rest_compat.saved.routes import shape_of_path

Stored = Mapping[str, SavedDocumentRow]  # by name


def check(stored: Stored, edited: Mapping[int, NamedDocument], removed: Collection[str]) -> None:
    """
    Check documents as `collection.put` does; *edited* are by their position in the file.

    Raises:
        InvalidInput: Documents cannot be saved; each detail names the member.
        Conflict: Two would have the same method and path, or there would be too many.
    """
    _require_savable(edited)
    replaced = {document.name for document in edited.values()} | set(removed)
    calls: dict[tuple[str, str], SavedDocumentRow | NamedDocument] = {
        (row.method, row.route): row for name, row in stored.items() if name not in replaced
    }
    for document in edited.values():
        other = calls.setdefault((document.method, shape_of_path(document.path)), document)
        if other is not document:
            message = f"Document {document.name!r}: {collection.call_is_taken(other)}"
            raise Conflict(message, code=Code.NAME_CONFLICT)
    collection.require_room(len(calls))


def _require_savable(edited: Mapping[int, NamedDocument]) -> None:
    graph = prepared.graph()
    refused: list[tuple[NamedDocument, Code]] = []
    details: list[Detail] = []
    for position, document in edited.items():
        try:
            collection.prepare(graph, document)
        except InvalidInput as refusal:
            refused.append((document, refusal.code))
            details += (
                Detail(f"documents[{position}].{detail.field}", detail.message)
                for detail in refusal.details
            )
    if refused:
        names = ", ".join(document.name for document, _ in refused)
        message = f"The file has documents that cannot be saved: {names}."
        raise InvalidInput(message, code=refused[0][1], details=details)


async def write(
    session: AsyncSession, stored: Stored, edited: Collection[NamedDocument], removed: Iterable[str]
) -> None:
    """Write documents that are checked; *stored* are rows of *session*."""
    await collection.count_change(session)
    for name in removed:
        await collection.delete(session, stored[name])
    for document in edited:
        if document.name in stored:
            # No path starts so: until all are written, another document may need the old route.
            row = stored[document.name]
            row.route = f"#{row.id}"
            session.add(row)
    await session.flush()
    for document in edited:
        await collection.write(session, stored.get(document.name), document.name, document)
