"""The audit log of the calls of tokens, newest first, and the providers' reasons of failures."""

import contextlib
from typing import Annotated

from fastapi import Depends, Response

from gateway.http.request_services import AppServices
from gateway.management import paging
from gateway.management.paging import Filters, Pager
from gateway.management.router import Router
from gateway.operations import decisions, views
from gateway.operations.decisions import DecisionQuery
from gateway.store.database import StorageUnavailable

router = Router(prefix="/api", tags=["Decisions"])


class DecisionFilters(DecisionQuery, Filters):
    pass


@router.get("/decisions", openapi_extra=paging.described(DecisionFilters))
async def list_decisions(
    services: AppServices,
    query: Annotated[DecisionFilters, Depends(paging.query(DecisionFilters))],
    response: Response,
) -> views.DecisionPage:
    """
    List decisions, newest first.

    `since` is part of the time that is asked for, `until` is not.
    """
    pager = Pager(services.keyring, "decisions", query, response)
    before = None if pager.after is None else (int(pager.after[0]), int(pager.after[1]))
    with contextlib.suppress(StorageUnavailable):  # what is stored already is listed all the same
        await services.decisions.flush()
    listed = await decisions.list_newest(services.database, query, limit=pager.fetch, before=before)
    page = pager.page(listed, lambda row: (row.at, row.id))
    return views.DecisionPage(decisions=listed[: pager.limit], **page)


@router.get("/provider-errors/{request_id}")
async def get_provider_errors(services: AppServices, request_id: str) -> views.ProviderErrors:
    """Read the responses of providers behind a request that failed."""
    with contextlib.suppress(StorageUnavailable):  # what is stored already is read all the same
        await services.provider_errors.flush()
    return await decisions.reasons(services.database, services.keyring, request_id)
