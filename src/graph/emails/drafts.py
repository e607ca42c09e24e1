"""Root fields of drafts: docs/spec/drafts.md."""

from typing import Annotated

import strawberry

from graph.context import Info
from graph.emails import draft_versions
from graph.emails import filters as filtering
from graph.emails.queries import Limit, PageToken, read_page, with_body
from graph.emails.types import DraftPage
from graph.execution.requested_fields import projection
from graph.masking.guards import guarded
from graph.warnings import warnings
from policy.refusals import NotFound
from policy.vocabulary import EmailOp, Surface
from providers import ids
from providers.failures import Missing
from providers.mail.drafts.merged_drafts import MergedDrafts
from providers.records import mail as mail_records

Argument = strawberry.argument
DraftId = Annotated[
    str, Argument(description="Provider-prefixed id of the draft, or of the message in it.")
]


@guarded(EmailOp.VIEW_DRAFTS, max_limit=filtering.MAX_LIMIT)
async def drafts(
    info: Info,
    *,
    limit: Limit = 20,
    include_body: Annotated[
        bool | None, Argument(description="False: `body` and `bodyType` are null.")
    ] = False,
    page_token: PageToken = None,
) -> DraftPage:
    """List the drafts in every connected mailbox, newest first."""
    context = info.context
    fields = with_body(projection(info.raw, "Email"), keep=include_body)
    page, token = await read_page(
        info, filtering.DRAFTS, limit=limit, page_token=page_token, fields=fields
    )
    stored = await MergedDrafts(context.mail_of_drafts(EmailOp.VIEW_DRAFTS)).of_messages(
        page.emails
    )
    return DraftPage(
        drafts=tuple(draft_versions.with_digests(context, draft, fields) for draft in stored),
        has_more=page.has_more,
        next_page_token=token,
        access_info=context.caller.access_info(Surface.EMAIL),
        auth_warnings=warnings(context, Surface.EMAIL, page.warnings),
    )


@guarded(EmailOp.VIEW_DRAFTS)
async def draft(info: Info, draft_id: DraftId) -> mail_records.StoredDraft:
    """Read one draft, with its body."""
    context = info.context
    context.caller.usable_connections(Surface.EMAIL)
    require_known(draft_id)
    fields = projection(info.raw, "Email")
    try:
        stored = await MergedDrafts(context.mail_of_drafts(EmailOp.VIEW_DRAFTS)).get(
            draft_id, projection=fields
        )
    except Missing as missing:
        raise no_draft() from missing
    seen = draft_versions.with_digests(context, stored, fields)
    context.etag = f'"{seen.version}"'
    return seen


def require_known(draft_id: str) -> None:
    """
    Check that an id can be one of a draft.

    Raises:
        NotFound: It cannot.
    """
    if ids.split_mail_id(draft_id) is None:
        raise no_draft()


def no_draft() -> NotFound:
    """Return the one error for every id that is not that of a draft."""
    return NotFound("No draft with this id.")
