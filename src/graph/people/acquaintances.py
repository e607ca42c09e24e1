"""People that accounts know beyond their messages (docs/spec/people.md#contacts-and-directory)."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from graph.context import Context
from graph.people.matches import Matches
from graph.people.types import PeopleSource
from policy.vocabulary import EmailOp
from providers import fanout
from providers.failures import ProviderFailure
from providers.fanout import ConnectionWarning
from providers.ports.connection import ConnectionInfo
from providers.ports.people import PeoplePort
from providers.turns import in_turns

OPERATIONS = {
    PeopleSource.CONTACTS: EmailOp.SEARCH_CONTACTS,
    PeopleSource.OTHER_CONTACTS: EmailOp.SEARCH_CONTACTS,
    PeopleSource.DIRECTORY: EmailOp.SEARCH_DIRECTORY,
}


class Search(NamedTuple):
    """A source of an account that may be searched."""

    info: ConnectionInfo
    port: PeoplePort
    source: PeopleSource


def searches(context: Context) -> list[Search]:
    """Return what the token and the consents of its accounts allow to search."""
    return [
        Search(info, port, source)
        for info, port in context.people()
        for source, operation in OPERATIONS.items()
        if context.caller.on(info.id).allows(operation)
        and not port.scopes.get(source, frozenset()).isdisjoint(_names(info.granted_scopes))
    ]


async def add(
    matches: Matches, searches: Collection[Search], name: str
) -> tuple[list[ConnectionWarning], bool]:
    """
    Search each source in one call, and add its people.

    Returns:
        The sources that failed, and whether all others were read to their ends.
    """
    pages = await fanout.gather_results(
        [search.port.search(search.source, name) for search in searches],
        fanout.CONNECTION_TIMEOUT_SECONDS,
    )
    failed, is_complete = [], True
    for search, page in zip(searches, pages, strict=True):
        if isinstance(page, ProviderFailure):
            failed.append(ConnectionWarning(search.info, page, search.source))
            continue
        is_complete = is_complete and page.is_complete
        async for person in in_turns(page.people):
            matches.add(person, search.source, search.info)
    return failed, is_complete


def _names(scopes: Iterable[str]) -> set[str]:
    return {scope.rpartition("/")[2].lower() for scope in scopes}
