"""Saved documents: an operator's own REST endpoints (docs/spec/saved-documents.md)."""

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field
from sqlalchemy import update
from sqlmodel import col, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.documents import checks
from gateway.operations.documents import views
from gateway.operations.inputs import Input, RowId, ShortText
from gateway.store import timestamps
from gateway.store.tables import DeploymentRow, SavedDocumentRow
from graph.documents.operations import Graph
from graph.documents.saved_operation import SavedOperation
from policy.caller import Caller
from policy.refusals import Conflict, Detail, InvalidInput, NotFound
from policy.vocabulary import Code
from rest_compat.binding import INPUT
from rest_compat.saved.document import path_parameters
from rest_compat.saved.routes import shape_of_path

if TYPE_CHECKING:
    from sqlmodel.sql.expression import SelectOfScalar

MAX_DOCUMENTS = 1_000  # of a deployment; docs/spec/limits.md#sizes
MAX_TOKENS = 20  # whose shapes one request checks

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII)


NAME_RULE = "must have 1 to 63 characters: a-z, 0-9, and - after the first"


def is_name(name: str) -> bool:
    """Return whether *name* can be that of a document."""
    return _NAME.fullmatch(name) is not None


def _document_name(name: str) -> str:
    if not is_name(name):
        raise ValueError(NAME_RULE)
    return name


DocumentName = Annotated[str, AfterValidator(_document_name)]
Text = Annotated[str, Field(min_length=1, max_length=checks.MAX_TEXT)]


class DocumentFields(Input):
    """All members of a saved document but its name."""

    document: Text
    method: str
    path: str
    status: int = 200
    description: ShortText | None = None


class NamedDocument(DocumentFields):
    """A document as a policy document has it."""

    name: DocumentName


class NewDocument(DocumentFields):
    """A document to save; *tokens* are those that must be able to use all of it."""

    tokens: Annotated[list[RowId], Field(max_length=MAX_TOKENS)] = Field(default_factory=list)


async def put(
    session: AsyncSession, graph: Graph, name: str, new: DocumentFields
) -> views.SavedDocument:
    """
    Save a document under *name*, or replace the one of this name.

    Raises:
        InvalidInput: It does not fit the schema, exceeds a limit, or its call does not fill its
            variables.
        Conflict: Another document has the same method and path, or there are too many.
    """
    operation = prepare(graph, new)
    await count_change(session)
    row = (await session.exec(_by_name(name))).first()
    taken = select(SavedDocumentRow).where(
        col(SavedDocumentRow.method) == new.method,
        col(SavedDocumentRow.route) == shape_of_path(new.path),
        col(SavedDocumentRow.name) != name,
    )
    other = (await session.exec(taken)).first()
    if other is not None:
        raise Conflict(call_is_taken(other), code=Code.NAME_CONFLICT)
    if row is None:
        count = (await session.exec(select(func.count(col(SavedDocumentRow.id))))).one()
        require_room(count + 1)
    return view(await write(session, row, name, new), operation)


async def write(
    session: AsyncSession, row: SavedDocumentRow | None, name: str, new: DocumentFields
) -> SavedDocumentRow:
    """Write a document that is checked; *row* is the stored one of its name."""
    now = timestamps.now_ms()
    note(session, "createDocument" if row is None else "changeDocument", name)
    if row is None:
        row = SavedDocumentRow(name=name, created_at=now, **_columns(new), updated_at=now)
    else:
        for member, value in _columns(new).items():
            setattr(row, member, value)
        row.updated_at = now
    session.add(row)
    await session.flush()
    return row


def call_is_taken(other: SavedDocumentRow | NamedDocument) -> str:
    """Return the sentence that *other* has the method and path of a document."""
    return f"The saved document {other.name} has this method and path: {other.method} {other.path}."


def require_room(count: int) -> None:
    """
    Check that there can be *count* documents.

    Raises:
        Conflict: They are too many.
    """
    if count > MAX_DOCUMENTS:
        raise Conflict(
            f"A deployment has at most {MAX_DOCUMENTS} saved documents.", code=Code.DOCUMENT_LIMIT
        )


def prepare(graph: Graph, new: DocumentFields) -> SavedOperation:
    """
    Check a document and the call that runs it.

    Raises:
        InvalidInput: As `put`.
    """
    operation = checks.prepare(graph, new.document)
    checks.require_bound(operation, method=new.method, path=new.path, status=new.status)
    return operation


def require_usable(
    graph: Graph, operation: SavedOperation, callers: Sequence[tuple[int, Caller]]
) -> None:
    """
    Check that tokens can use all of a document; *callers* are by the id of their token.

    Raises:
        InvalidInput: One of them cannot; a detail says what of it.
    """
    details = [
        Detail(f"tokens[{position}]", f"Token {token_id} cannot use it: {problem}")
        for position, (token_id, caller) in enumerate(callers)
        if (problem := checks.beyond_shape(graph, operation, caller)) is not None
    ]
    if details:
        raise InvalidInput(details[0].message, code=Code.VALIDATION_ERROR, details=details)


async def read(session: AsyncSession, graph: Graph, name: str) -> views.SavedDocument:
    """Return one document."""
    return _described(graph, await get(session, name))


async def get(session: AsyncSession, name: str) -> SavedDocumentRow:
    """
    Return the row of a document.

    Raises:
        NotFound: There is none of this name.
    """
    row = (await session.exec(_by_name(name))).first()
    if row is None:
        raise NotFound("There is no such document.", code=Code.DOCUMENT_NOT_FOUND)
    return row


async def list_all(
    session: AsyncSession, *, after: str = "", limit: int | None = None
) -> list[views.ListedDocument]:
    """Return documents by name, without their texts; *after* is the last name before."""
    query = select(SavedDocumentRow).order_by(col(SavedDocumentRow.name)).limit(limit)
    rows = await session.exec(query.where(col(SavedDocumentRow.name) > after))
    return [views.ListedDocument.of(row, document_id=row.digest) for row in rows]


async def rows(session: AsyncSession) -> Sequence[SavedDocumentRow]:
    """Return all rows by name."""
    query = select(SavedDocumentRow).order_by(col(SavedDocumentRow.name))
    return (await session.exec(query)).all()


async def misfits(session: AsyncSession, graph: Graph) -> list[dict[str, str]]:
    """Return `name`, `method`, `path` and `problem` of the documents that do not fit, by name."""
    described = [(row, _described(graph, row).problem) for row in await rows(session)]
    return [
        {"name": row.name, "method": row.method, "path": row.path, "problem": problem}
        for row, problem in described
        if problem is not None
    ]


async def remove(session: AsyncSession, name: str) -> None:
    """Remove a document; no request that starts later runs it by its path or its id."""
    await count_change(session)
    await delete(session, await get(session, name))


async def delete(session: AsyncSession, row: SavedDocumentRow) -> None:
    """Delete the row of a document."""
    await session.delete(row)
    note(session, "removeDocument", row.name)


async def count_change(session: AsyncSession) -> None:
    """Have every process read the documents again; other writers of documents wait from here."""
    counted = update(DeploymentRow).values(documents_rev=DeploymentRow.documents_rev + 1)
    await session.exec(counted)


def view(
    row: SavedDocumentRow, operation: SavedOperation | None, problem: str | None = None
) -> views.SavedDocument:
    """Return a document with its text and what fills its variables; no operation has a problem."""
    in_path = path_parameters(row.path)
    return views.SavedDocument.of(
        row,
        document_id=row.digest,
        document=row.text,
        root_field=operation and operation.root_name,
        surface=operation and operation.surface,
        variables=[
            views.DocumentVariable(
                name=variable.name,
                type=str(variable.type),
                filled_by=_filled_by(variable.name, in_path),
                required=variable.required,
            )
            for variable in (operation.variables if operation else ())
        ],
        problem=problem,
    )


def _filled_by(name: str, in_path: Sequence[str]) -> str:
    if name in in_path:
        return "path"
    return {INPUT: "body", "ifMatch": "header"}.get(name, "query")


def _described(graph: Graph, row: SavedDocumentRow) -> views.SavedDocument:
    try:
        return view(row, checks.prepare(graph, row.text))
    except InvalidInput as refusal:
        return view(row, None, refusal.message)


def _by_name(name: str) -> "SelectOfScalar[SavedDocumentRow]":
    return select(SavedDocumentRow).where(col(SavedDocumentRow.name) == name)


def _columns(new: DocumentFields) -> dict[str, Any]:
    return {
        "method": new.method,
        "path": new.path,
        "route": shape_of_path(new.path),
        "status": new.status,
        "text": new.document,
        "digest": hashlib.sha256(new.document.encode()).hexdigest(),
        "description": new.description,
    }
