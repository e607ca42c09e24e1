"""
The positions of all mailboxes between two pages of mail, as a page token holds them.

Ids are long, and most mailboxes have the position where the page ended, so each position is
written once for all its mailboxes (docs/spec/paging.md#email-page-tokens).
"""

from collections.abc import Mapping, Sequence

from graph import page_tokens
from graph.context import Context
from graph.emails.filters import Filters
from policy.gates import Connection
from policy.refusals import Conflict
from policy.vocabulary import Code
from providers.mail.merging import ConnectionPosition
from providers.ports.mail import MailPosition

MAX_MAILBOXES = 100  # of one search, to fit a page token; docs/spec/email.md#mailbox-limit

_ROUTE = "emails"
_Progress = tuple[int, int, int, bool, bool]  # connection, returned, total, exact, exhausted
_Position = tuple[int | None, str, list[_Progress]]  # received_ms and id; None is the beginning


def require_room(mailboxes: Sequence[Connection]) -> None:
    """
    Refuse a search whose positions would not fit into a page token, before it runs.

    Raises:
        Conflict: `MAILBOX_LIMIT`: there are more than a hundred mailboxes.
    """
    if len(mailboxes) > MAX_MAILBOXES:
        raise Conflict(
            f"A search covers at most {MAX_MAILBOXES} mailboxes, and this token has "
            f"{len(mailboxes)}; allowedConnectionIds chooses among them.",
            code=Code.MAILBOX_LIMIT,
        )


def seal(
    context: Context, filters: Filters, positions: Mapping[int, ConnectionPosition]
) -> str | None:
    """
    Write the position of each mailbox, by connection id, into a page token.

    Raises:
        TooMuch: Too many different positions, because mailboxes failed since different pages.
    """
    by_position: dict[MailPosition | None, list[_Progress]] = {}
    for connection, position in positions.items():
        after = None if position.exhausted else position.after  # it is not asked again
        progress = (
            connection,
            position.returned,
            position.total,
            position.total_exact,
            position.exhausted,
        )
        by_position.setdefault(after, []).append(progress)
    state: list[_Position] = [
        (None, "", mailboxes) if after is None else (after.received_ms, after.id, mailboxes)
        for after, mailboxes in by_position.items()
    ]
    return page_tokens.seal(context, _ROUTE, filters.binding(), state)


def unseal(context: Context, filters: Filters, token: str | None) -> dict[int, ConnectionPosition]:
    """
    Return the position of each mailbox, by connection id.

    Raises:
        InvalidInput: As `page_tokens.unseal`.
    """
    state = page_tokens.unseal(context, _ROUTE, filters.binding(), token, list[_Position])
    return {
        connection: ConnectionPosition(
            after=None if received_ms is None else MailPosition(received_ms, last),
            exhausted=exhausted,
            returned=returned,
            total=total,
            total_exact=exact,
        )
        for received_ms, last, mailboxes in state or ()
        for connection, returned, total, exact, exhausted in mailboxes
    }
