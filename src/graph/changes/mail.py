"""Rows of mail, from the histories of the providers."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from graph.changes import state
from graph.changes.following import Call, Outcome, failed, shown, visible
from graph.changes.state import Followed, MailFollowed, Row
from graph.changes.types import ChangeFailure
from policy.vocabulary import EmailOp
from providers import fanout
from providers.failures import ProviderFailure
from providers.ids import join_mail_id
from providers.ports.changes import Change, ChangePort, PositionExpired
from providers.ports.connection import ConnectionInfo

ATTRIBUTES = ("is_read", "labels", "importance")  # that change while a message stays
_MAX_SLICES = 10  # of one connection and call


async def follow(call: Call) -> Mapping[int, Outcome]:
    """Return what each usable mailbox tells, by its connection."""
    context, known = call.context, call.known
    histories = [
        (info, port)
        for info, port in context.mail.histories()
        if context.caller.on(info.id).allows(EmailOp.SEARCH_EMAILS)
    ]
    outcomes = await fanout.gather_results(
        [_MailboxFeed(call, info, port).follow() for info, port in histories],
        context.mail.timeout_seconds,
    )
    return {
        info.id: failed(known.get(info.id), result, fanout.ConnectionWarning(info, result))
        if isinstance(result, ProviderFailure)
        else result
        for (info, _), result in zip(histories, outcomes, strict=True)
    }


class _MailboxFeed:
    """The feed of one mailbox, for one call."""

    def __init__(self, call: Call, info: ConnectionInfo, port: ChangePort | None) -> None:
        self._call, self._info, self._port = call, info, port
        self._rows, self._now = call.rows(info.id), call.now
        self._seen = visible(call.context.caller.on(info.id).grant, "Email", ATTRIBUTES)

    async def follow(self) -> Outcome:
        """Return what the mailbox tells."""
        known = self._call.known.get(self._info.id)
        try:
            return await self._follow(known, self._call.limit)
        except ProviderFailure as failure:
            # As a value at once: a task that ends with it would keep these frames alive.
            return failed(known, failure, fanout.ConnectionWarning(self._info, failure))

    async def _follow(self, known: Followed | None, limit: int) -> Outcome:
        if self._port is None:
            return Outcome(followed=None, code=ChangeFailure.UNSUPPORTED)
        if not isinstance(known, MailFollowed) or known.seen != self._seen:
            return await self._begin(self._port)
        try:
            return await self._continue(self._port, known.position, limit)
        except PositionExpired:
            return await self._begin(self._port)

    async def _begin(self, port: ChangePort) -> Outcome:
        followed = MailFollowed(self._now, self._seen, await port.now())
        rows = () if not self._call.origin else (self._rows.row(state.RESYNC, None),)
        return Outcome(followed=followed, rows=rows, unfollowed=self._unfollowed(port))

    async def _continue(self, port: ChangePort, position: str, limit: int) -> Outcome:
        """Read slices until there are rows enough: hidden changes alone end no call."""
        rows: list[Row] = []
        for _ in range(_MAX_SLICES):
            part = await port.since(position, limit=limit)
            position = part.position
            rows += filter(None, (self._row(change, port) for change in part.changes))
            if not part.more or len(rows) >= limit:
                break
        return Outcome(
            followed=MailFollowed(self._now, self._seen, position),
            rows=tuple(rows),
            is_more=part.more,
            unfollowed=self._unfollowed(port),
        )

    def _row(self, change: Change, port: ChangePort) -> Row | None:
        """Return the row of a change; None when nothing changed that the token sees."""
        name = join_mail_id(self._info.provider, change.id)
        if change.kind.value != state.CHANGED:
            return self._rows.row(change.kind.value, name)
        if change.attributes is None:
            hides_some = not port.undivided <= set(self._seen)
            changed = () if hides_some else self._in_order(port.undivided)
        else:
            changed = self._in_order(change.attributes)
        return self._rows.row(state.CHANGED, name, shown(changed)) if changed else None

    def _unfollowed(self, port: ChangePort) -> tuple[str, ...]:
        """Return the visible ones of the members of which the provider does not tell one alone."""
        undivided = port.undivided
        return () if undivided <= set(self._seen) else shown(self._in_order(undivided))

    def _in_order(self, attributes: AbstractSet[str]) -> tuple[str, ...]:
        return tuple(name for name in self._seen if name in attributes)
