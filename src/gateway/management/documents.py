"""`/api/documents`: saved documents, the operator's own REST endpoints."""

from typing import Annotated

from fastapi import Depends, Response

from gateway.documents import prepared
from gateway.explain import saved_documents
from gateway.http.request_services import AppServices
from gateway.management import paging
from gateway.management.bodies import body, described
from gateway.management.paging import Filters, Pager
from gateway.management.router import Router
from gateway.operations.documents import collection as documents
from gateway.operations.documents import views
from gateway.operations.documents.collection import NewDocument
from rest_compat.readers import MAX_SHORT_BODY

router = Router(prefix="/api/documents", tags=["Saved documents"])
_new = body(NewDocument, limit=MAX_SHORT_BODY)


@router.put("/{name}", openapi_extra=described(NewDocument))
async def put_document(
    services: AppServices, name: str, new: Annotated[NewDocument, Depends(_new)]
) -> views.SavedDocument:
    """Save a GraphQL document as a call of its own, or replace the one of this name."""
    return await saved_documents.save(services, name, new)


@router.get("", openapi_extra=paging.described(Filters))
async def list_documents(
    services: AppServices,
    query: Annotated[Filters, Depends(paging.query(Filters))],
    response: Response,
) -> views.DocumentPage:
    """List saved documents by name, without their texts."""
    pager = Pager(services.keyring, "documents", query, response)
    after = "" if pager.after is None else str(pager.after[0])
    async with services.database.reading() as session:
        listed = await documents.list_all(session, after=after, limit=pager.fetch)
    page = pager.page(listed, position=lambda row: (row.name,))
    return views.DocumentPage(documents=listed[: pager.limit], **page)


@router.get("/{name}")
async def get_document(services: AppServices, name: str) -> views.SavedDocument:
    """Read one saved document."""
    async with services.database.reading() as session:
        return await documents.read(session, prepared.graph(), name)


@router.delete("/{name}", status_code=204)
async def delete_document(services: AppServices, name: str) -> None:
    """Remove a saved document; no request that starts later runs it."""
    async with services.database.writing() as session:
        await documents.remove(session, name)
