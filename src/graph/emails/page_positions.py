"""
Where every mailbox stands between two pages of mail, as a page token holds it.

Ids are long, and most mailboxes stand where the page ended: those that stand together say it once.
What is left to say of each is short, so that a token has room for the most mailboxes of a search.
"""

from collections.abc import Mapping, Sequence

from graph import page_tokens
from graph.context import Context
from graph.emails.filters import Filters
from policy.gates import Connection
from policy.refusals import Conflict
from policy.vocabulary import Code
from providers.mail.merged_mailbox import ConnectionPosition
from providers.ports.mail import MailPosition

MOST_MAILBOXES = 100  # of one search; page tokens have 4,096 characters (ADR 0007)

_ROUTE = "emails"
_Standing = tuple[int, int, int, bool, bool]  # connection, returned, total, exact, exhausted
_Place = tuple[int | None, str, list[_Standing]]  # received_ms and id; None is the beginning


def require_room(mailboxes: Sequence[Connection]) -> None:
    """
    Refuse a search that a page token has no room for, before anybody is asked.

    Raises:
        Conflict: `MAILBOX_LIMIT`: there are more than a hundred mailboxes.
    """
    if len(mailboxes) > MOST_MAILBOXES:
        raise Conflict(
            f"A search goes over {MOST_MAILBOXES} mailboxes at most, and this token has "
            f"{len(mailboxes)}; allowedConnectionIds chooses among them.",
            code=Code.MAILBOX_LIMIT,
        )


def seal(context: Context, asked: Filters, positions: Mapping[int, ConnectionPosition]) -> str:
    """
    Write where the mailboxes stand, by connection id, into a page token.

    Raises:
        TooMuch: They stand at too many different places, having failed since different pages.
    """
    together: dict[MailPosition | None, list[_Standing]] = {}
    for connection, one in positions.items():
        after = None if one.exhausted else one.after  # it is not asked again
        standing = (connection, one.returned, one.total, one.total_exact, one.exhausted)
        together.setdefault(after, []).append(standing)
    state: list[_Place] = [
        (None, "", standings) if after is None else (after.received_ms, after.id, standings)
        for after, standings in together.items()
    ]
    return page_tokens.seal(context, _ROUTE, asked.binding(), state)


def unseal(context: Context, asked: Filters, token: str | None) -> dict[int, ConnectionPosition]:
    """
    Read where the mailboxes stand; without a token they are at their beginnings.

    Raises:
        InvalidInput: As `page_tokens.unseal`.
    """
    if not token:
        return {}
    state = page_tokens.unseal(context, _ROUTE, asked.binding(), token, list[_Place])
    return {
        connection: ConnectionPosition(
            after=None if received_ms is None else MailPosition(received_ms, last),
            exhausted=exhausted,
            returned=returned,
            total=total,
            total_exact=exact,
        )
        for received_ms, last, standings in state
        for connection, returned, total, exact, exhausted in standings
    }
