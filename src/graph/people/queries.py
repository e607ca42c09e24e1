"""The root query `people`: a name to addresses, never by a guess (docs/spec/people.md)."""

from typing import Annotated

import strawberry

from graph.context import Info
from graph.emails import page_positions
from graph.masking.guards import guarded
from graph.people import acquaintances, correspondents
from graph.people.matches import Matches
from graph.people.types import PeopleOutcome, PeopleResult, PeopleSource
from graph.warnings import all_failed_error, warnings
from policy.caller import Caller
from policy.refusals import FieldNotVisible, InvalidInput
from policy.vocabulary import EmailField, EmailOp, Surface
from providers import fanout
from providers.failures import ProviderFailure
from providers.fanout import ConnectionWarning
from providers.ports.mail import MailQuery
from providers.search_text import upstream_terms

MAX_LIMIT = 50  # docs/spec/people.md#parameters

_FIELDS = {EmailField.FROM: "from_", EmailField.TO: "to", EmailField.CC: "cc"}
_BEYOND_MAIL = tuple(dict.fromkeys(acquaintances.OPERATIONS.values()))

Argument = strawberry.argument


@guarded(
    EmailOp.SEARCH_EMAILS,
    *_BEYOND_MAIL,
    max_limit=MAX_LIMIT,
    searching={"name": tuple(_FIELDS)},
    searching_beyond=_BEYOND_MAIL,
)
async def people(
    info: Info,
    name: Annotated[str, Argument(description="Words of a name or of an address, in any order.")],
    *,
    limit: Annotated[int | None, Argument(description="1 to 50; more is lowered to 50.")] = 10,
) -> PeopleResult:
    """Look for the people who may be meant by a name, in one search of each source."""
    context = info.context
    size = context.clamp_limit(limit, default=10, maximum=MAX_LIMIT)
    words = name.replace('"', " ").strip()
    if not upstream_terms(words):
        raise InvalidInput("name must have a letter or a digit.")
    page_positions.require_room(context.caller.usable_connections(Surface.EMAIL))
    searches = acquaintances.searches(context)
    fields = _visible_fields(context.caller, is_only_source=not searches)
    matches = Matches(words, context.caller)
    failed: list[ConnectionWarning] = []
    is_complete, number = True, len(searches)
    if fields:
        query = MailQuery(text=words, text_fields=fields, text_beyond=False, limit=50)
        results = await context.mail.first_pages(query, projection=fields)
        pages = [
            (account, page) for account, page in results if not isinstance(page, ProviderFailure)
        ]
        failed += [
            ConnectionWarning(account, failure)
            for account, failure in results
            if isinstance(failure, ProviderFailure)
        ]
        is_complete, number = all(page.exhausted for _, page in pages), number + len(results)
        await correspondents.add(matches, pages, fields)
    unread, is_whole = await acquaintances.add(matches, searches, words)
    failed += unread
    if failed and len(failed) == number:
        failure = fanout.combined_failure(failed)
        raise all_failed_error(failure) if isinstance(failure, fanout.AllFailed) else failure
    auth_warnings = warnings(context, Surface.EMAIL, failed)
    ranked = matches.ranked()
    is_complete = is_complete and is_whole and auth_warnings is None and number > 0
    searched = {PeopleSource.CORRESPONDENCE} if fields else set()
    searched |= {search.source for search in searches}
    return PeopleResult(
        outcome=_outcome(len(ranked), is_complete=is_complete),
        people=tuple(ranked[:size]),
        searched=tuple(source for source in PeopleSource if source in searched),
        total_count=len(ranked),
        access_info=context.caller.access_info(Surface.EMAIL),
        auth_warnings=auth_warnings,
    )


def _visible_fields(caller: Caller, *, is_only_source: bool) -> frozenset[str]:
    """
    Return the attributes of messages in which the token may look for people.

    Raises:
        FieldNotVisible: There is none, and there is no other source. In every mask mode, since
            people have no member to mask.
    """
    if not caller.allows(EmailOp.SEARCH_EMAILS):
        return frozenset()
    fields = frozenset(attribute for word, attribute in _FIELDS.items() if not caller.hides(word))
    if not fields and is_only_source:
        raise FieldNotVisible("The filter 'name'", *_FIELDS, any_of=True)
    return fields


def _outcome(number: int, *, is_complete: bool) -> PeopleOutcome:
    if number > 1:
        return PeopleOutcome.SEVERAL
    if not is_complete:
        return PeopleOutcome.INCOMPLETE
    return PeopleOutcome.ONE if number else PeopleOutcome.NONE
