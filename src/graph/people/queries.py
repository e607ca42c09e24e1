"""The root query `people`: a name to addresses, never by a guess (docs/spec/people.md)."""

from typing import Annotated

import strawberry

from graph.context import Context, Info
from graph.emails import page_positions
from graph.masking.guards import guarded
from graph.people import correspondents
from graph.people.types import PeopleOutcome, PeopleResult, PersonMatch
from graph.warnings import all_failed_error, warnings
from policy.refusals import FieldNotVisible, InvalidInput
from policy.vocabulary import EmailField, EmailOp, Surface
from providers import fanout
from providers.failures import ProviderFailure
from providers.ports.mail import MailQuery
from providers.search_text import upstream_terms

MAX_LIMIT = 50  # docs/spec/people.md#parameters

_FIELDS = {EmailField.FROM: "from_", EmailField.TO: "to", EmailField.CC: "cc"}

Argument = strawberry.argument


@guarded(EmailOp.SEARCH_EMAILS, max_limit=MAX_LIMIT, searching={"name": tuple(_FIELDS)})
async def people(
    info: Info,
    name: Annotated[str, Argument(description="Words of a name or of an address, in any order.")],
    *,
    limit: Annotated[int | None, Argument(description="1 to 50; more is lowered to 50.")] = 10,
) -> PeopleResult:
    """Look for the people who may be meant by a name, in one search of each mailbox."""
    context = info.context
    size = context.clamp_limit(limit, default=10, maximum=MAX_LIMIT)
    words = name.replace('"', " ").strip()
    if not upstream_terms(words):
        raise InvalidInput("name must have a letter or a digit.")
    fields = _visible_fields(context)
    page_positions.require_room(context.caller.usable_connections(Surface.EMAIL))
    query = MailQuery(text=words, text_fields=fields, text_beyond=False, limit=50)
    results = await context.mail.first_pages(query, wanted=fields)
    pages = [(account, page) for account, page in results if not isinstance(page, ProviderFailure)]
    failed = [
        fanout.ConnectionWarning(account, failure)
        for account, failure in results
        if isinstance(failure, ProviderFailure)
    ]
    if not pages:
        failure = fanout.combined_failure(failed)
        raise all_failed_error(failure) if isinstance(failure, fanout.AllFailed) else failure
    matches = await correspondents.find(words, pages, fields, context.caller)
    auth_warnings = warnings(context, Surface.EMAIL, failed)
    is_complete = auth_warnings is None and all(page.exhausted for _, page in pages)
    return PeopleResult(
        outcome=_outcome(matches, is_complete=is_complete),
        people=tuple(matches[:size]),
        total_count=len(matches),
        access_info=context.caller.access_info(Surface.EMAIL),
        auth_warnings=auth_warnings,
    )


def _visible_fields(context: Context) -> frozenset[str]:
    """
    Return the attributes of messages whose people the token may see.

    Raises:
        FieldNotVisible: There is none; in every mask mode, since people have no member to mask.
    """
    fields = frozenset(
        attribute for word, attribute in _FIELDS.items() if not context.caller.hides(word)
    )
    if not fields:
        raise FieldNotVisible("The filter 'name'", *_FIELDS, any_of=True)
    return fields


def _outcome(matches: list[PersonMatch], *, is_complete: bool) -> PeopleOutcome:
    if len(matches) > 1:
        return PeopleOutcome.SEVERAL
    if not is_complete:
        return PeopleOutcome.INCOMPLETE
    return PeopleOutcome.ONE if matches else PeopleOutcome.NONE
