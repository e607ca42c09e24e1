"""The root query `changes` (docs/spec/changes.md)."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated

import strawberry
from msgspec.structs import replace

from graph.changes import state
from graph.changes import surfaces as surfaces_table
from graph.changes.following import STATUS_CODES, Call, Outcome, Rows
from graph.changes.state import FeedState, Followed, ListingFollowed, Row
from graph.changes.surfaces import OPERATIONS, SURFACES
from graph.changes.types import Change, ChangeKind, ChangePage, ChangeSurface, UpTo
from graph.context import Context, FeedStates, Info
from graph.masking.guards import guarded
from graph.warnings import warnings
from policy.refusals import InvalidInput
from policy.vocabulary import Code
from providers.records.base import from_epoch_ms

_NAMES = tuple(surface.value for surface in SURFACES)
MAX_LIMIT = 500  # docs/spec/changes.md#parameters

_Results = dict[tuple[ChangeSurface, int], Outcome]

Argument = strawberry.argument


@guarded(*OPERATIONS, max_limit=MAX_LIMIT)
async def changes(
    info: Info,
    *,
    since: Annotated[
        str | None, Argument(description="The cursor of an earlier answer; absent: from now on.")
    ] = None,
    surfaces: Annotated[
        str | None,
        Argument(
            description="What to follow, separated by commas, without `since`: `email`, "
            "`calendar`, `tasks`, `files`, `lists`. Default: all that may be listed."
        ),
    ] = None,
    limit: Annotated[
        int | None, Argument(description="1 to 500 rows; more is lowered to 500.")
    ] = 100,
) -> ChangePage:
    """Read what has changed since a cursor, as far as the token may see it."""
    context = info.context
    size = context.clamp_limit(limit, default=100, maximum=MAX_LIMIT)
    if since is None:
        names = () if surfaces is None else [name.strip() for name in surfaces.split(",")]
        return await begin(context, names, size)
    if surfaces is not None:
        raise InvalidInput("surfaces is part of the cursor: leave it out beside since.")
    origin = _origin(context, since)
    before = await _stored(context, origin)
    known = SURFACES if before is None else map(ChangeSurface, before.surfaces)
    followed = surfaces_table.admitted(context.caller, known)
    feed = _Feed(context, before or FeedState.begin(), origin, followed)
    return await feed.answer(size)


async def begin(context: Context, names: Sequence[str], limit: int = 1) -> ChangePage:
    """
    Begin a feed of the surfaces *names*; none: of all that may be listed.

    Raises:
        InvalidInput: A surface is not followed.
        Refusal: One may not be listed.
    """
    named = _named(names)
    for surface in named:
        SURFACES[surface].admit(context.caller)
    followed = tuple(named) or surfaces_table.admitted(context.caller, SURFACES)
    return await _Feed(context, FeedState.begin(), "", followed).answer(limit)


def _named(names: Sequence[str]) -> list[ChangeSurface]:
    """
    Return the surfaces that a caller names.

    Raises:
        InvalidInput: One is not followed.
    """
    unknown = [name for name in names if name not in _NAMES]
    if unknown:
        known = ", ".join(_NAMES)
        raise InvalidInput(f"surfaces has a surface that is not followed; those are: {known}.")
    return [ChangeSurface(name) for name in dict.fromkeys(names)]


def _origin(context: Context, cursor: str) -> str:
    """
    Return the id of the state that a cursor names.

    Raises:
        InvalidInput: The cursor is damaged or of another token.
    """
    try:
        return state.state_of(cursor, context.sealer, context.caller.token_id)
    except ValueError as error:
        message = "The cursor is damaged, or it is one of another token."
        raise InvalidInput(message, code=Code.INVALID_CURSOR) from error


def _states(context: Context) -> FeedStates:
    if context.feeds is None:
        raise TypeError("A feed of changes needs where its states are stored.")
    return context.feeds


async def _stored(context: Context, state_id: str) -> FeedState | None:
    """Return a state; None when it is not kept any more."""
    content = await _states(context).load(state_id)
    return None if content is None else state.decode(content)


class _Feed:
    """
    One call of a feed.

    Attributes:
        before: The state of the cursor.
        origin: Its id; "" for a new feed.
        surfaces: Those that are followed now.
    """

    def __init__(
        self, context: Context, before: FeedState, origin: str, surfaces: tuple[ChangeSurface, ...]
    ) -> None:
        self.before, self.origin, self.surfaces = before, origin, surfaces
        self._context = context
        self._is_same = before.visibility == context.visibility
        self._providers = {each.id: each.provider for each in context.caller.connections}

    async def answer(self, limit: int) -> ChangePage:
        """Return at most *limit* rows, and the cursor for what follows them."""
        if self.before.waiting and self._is_same:
            results: _Results = {
                (ChangeSurface(surface), connection): Outcome(followed=followed, is_more=True)
                for surface, connections in self.before.followed.items()
                for connection, followed in connections.items()
            }
            rows: Sequence[Row] = self.before.waiting
        else:
            results = await self._results(limit)
            rows = self._in_order([row for outcome in results.values() for row in outcome.rows])
        followed: dict[str, dict[int, Followed]] = {}
        for (surface, connection), outcome in results.items():
            if outcome.followed is not None:
                followed.setdefault(surface.value, {})[connection] = outcome.followed
        after = replace(
            self.before,
            surfaces=tuple(surface.value for surface in self.surfaces),
            visibility=self._context.visibility,
            followed=followed,
            waiting=tuple(rows[limit:]),
        )
        return ChangePage(
            changes=tuple(self._shown(row) for row in rows[:limit]),
            up_to=tuple(
                _up_to(*key, outcome)
                for key, outcome in sorted(results.items())
                if outcome.followed is not None or outcome.code is not None
            ),
            cursor=await self._cursor(after),
            more=len(rows) > limit or any(outcome.is_more for outcome in results.values()),
            auth_warnings=self._warnings(results),
        )

    async def _results(self, limit: int) -> _Results:
        """Ask the providers; a connection that the token may not use any more has a resync."""
        known = {each: dict(self.before.followed.get(each.value, {})) for each in ChangeSurface}
        for row in self.before.waiting:  # determined for what the token was
            known[ChangeSurface(row.surface)].pop(row.connection, None)
        outcomes = await asyncio.gather(
            *(self._follow(surface, known[surface], limit) for surface in self.surfaces)
        )
        results: _Results = {
            (surface, connection): outcome
            for surface, connections in zip(self.surfaces, outcomes, strict=True)
            for connection, outcome in connections.items()
        }
        results = self._of_status(known) | results
        for surface, connections in self.before.followed.items():
            for connection in connections:
                key = ChangeSurface(surface), connection
                if key not in results:
                    lost = Rows(self._context, *key, self.origin)
                    rows = (lost.row(state.RESYNC, None),)
                    results[key] = Outcome(followed=None, rows=rows)
        return results

    def _of_status(self, known: Mapping[ChangeSurface, Mapping[int, Followed]]) -> _Results:
        """Return the outcomes of the connections whose state says that they do not work."""
        caller = self._context.caller
        return {
            (surface, each.id): Outcome(followed=known[surface].get(each.id), code=code)
            for surface in self.surfaces
            for each in caller.connections
            if each.kind == SURFACES[surface].surface and not caller.excludes(each)
            if (code := STATUS_CODES.get(each.status)) is not None
        }

    async def _follow(
        self, surface: ChangeSurface, known: Mapping[int, Followed], limit: int
    ) -> Mapping[int, Outcome]:
        call = Call(
            context=self._context,
            surface=surface,
            known=known,
            key=self.before.key,
            origin=self.origin,
            is_wider=not self._is_same,
            limit=limit,
        )
        return await SURFACES[surface].follow(call)

    def _in_order(self, rows: list[Row]) -> list[Row]:
        """Put each `resync` first; no order tells to which hidden connection an object belongs."""
        return sorted(rows, key=self._rank)

    def _rank(self, row: Row) -> tuple[bool, str, str]:
        is_hidden = self._hides_connection(row)
        return row.kind != state.RESYNC, row.surface, (row.object_id or "") if is_hidden else ""

    def _hides_connection(self, row: Row) -> bool:
        return row.kind != state.RESYNC and self._context.caller.on(row.connection).hides(
            SURFACES[ChangeSurface(row.surface)].hiding
        )

    def _shown(self, row: Row) -> Change:
        return Change(
            id=row.token,
            surface=ChangeSurface(row.surface),
            kind=ChangeKind(row.kind),
            object_id=row.object_id,
            changed=row.changed,
            at=from_epoch_ms(row.at),
            connection_id=None if self._hides_connection(row) else row.connection,
            provider=self._providers.get(row.connection),
        )

    async def _cursor(self, after: FeedState) -> str:
        """Return the cursor of a state, which is stored unless it says what is stored already."""
        state_id = self.origin
        if not state_id or _content(after) != _content(self.before):
            state_id = await _states(self._context).store(
                state.encode(after), feed=after.feed, after=self.origin or None
            )
        return state.cursor_of(state_id, self._context.sealer, self._context.caller.token_id)

    def _warnings(self, results: _Results) -> tuple[str, ...] | None:
        sentences: list[str] = []
        for surface in self.surfaces:
            failed = [
                warning
                for (of, _), outcome in sorted(results.items())
                if of is surface
                for warning in outcome.warnings
            ]
            sentences += warnings(self._context, SURFACES[surface].surface, failed) or ()
        return tuple(dict.fromkeys(sentences)) or None


def _content(of: FeedState) -> FeedState:
    """Return a state without the moments up to which it was told."""
    followed = {
        surface: {connection: replace(each, at=0) for connection, each in connections.items()}
        for surface, connections in of.followed.items()
    }
    return replace(of, followed=followed)


def _up_to(surface: ChangeSurface, connection: int, outcome: Outcome) -> UpTo:
    followed = outcome.followed
    range_ = followed if isinstance(followed, ListingFollowed) and followed.end else None
    return UpTo(
        connection_id=connection,
        surface=surface,
        at=None if followed is None else from_epoch_ms(followed.at),
        code=outcome.code,
        unfollowed=outcome.unfollowed,
        from_=None if range_ is None else from_epoch_ms(range_.start),
        to=None if range_ is None else from_epoch_ms(range_.end),
    )
