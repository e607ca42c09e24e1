"""
Runs the writes that a person released: the same call, made later, once.

A released write runs as an attempt under an `Idempotency-Key` of its own, in the ledger that every
keyed call has: a lease, a fence before each call that writes, a look-up after a crash. The row ends
when the attempt has. So a process that dies in between loses nothing, and the next one that looks
goes on where the ledger says. What runs must have the effect that the person saw
(docs/spec/held-writes.md#release).
"""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec
from starlette.types import Scope

from gateway.audit import recorder
from gateway.audit.decision import EntryPoint
from gateway.documents import prepared
from gateway.errors import Overloaded
from gateway.held_writes import contents
from gateway.http.calls import Calls
from gateway.http.graphql_call import GraphQLCall
from gateway.http.request_state import KEY, RequestState, request_state
from gateway.store import timestamps
from gateway.store.background import PeriodicTask, let_end, running_tasks
from gateway.store.database import StorageUnavailable
from gateway.store.further_tables import HeldWriteRow
from graph.context import Context
from graph.effects import EffectRequest
from policy.vocabulary import Code, HeldState
from providers.failures import Broken, ClientRefused, Unreachable
from rest_compat.calls import Call
from rest_compat.held.stored_calls import HeldContent, end_of, outcome_of
from rest_compat.ledger import Attempt, Intent
from rest_compat.preferences import read_preferences
from rest_compat.request import made_request
from rest_compat.responses import RestResponse
from rest_compat.router import rest_app
from rest_compat.table import RateBucket

if TYPE_CHECKING:
    from gateway.services import Services

PAUSE_SECONDS = 1.0  # between two looks for released writes
CONCURRENT = 8  # runs of one process
MAX_PAUSE_SECONDS = 60  # before a run that failed for the moment is repeated
STOP_SECONDS = 15.0  # that they may still take when the process stops
DOOR = "/api/access/writes"  # where the ledger has the attempts of released writes
_STATE = "gateway.releases"  # scope key of the `_Release`

log = logging.getLogger("gateway")


class _Release(msgspec.Struct, kw_only=True):
    """One run; *context* is None before its token was let in."""

    row: HeldWriteRow
    content: HeldContent
    attempt: Attempt
    context: Context | None = None


class Releases(Calls):
    """Runs released writes, in the background. One per process."""

    def __init__(self, services: "Services") -> None:
        super().__init__(services.entry, services.idempotency)
        self._store = services.held_writes
        self._keyring = services.keyring
        self._authenticator = services.authenticator
        self._metrics = services.base.metrics
        self._wait_for_capacity = services.decisions.wait_for_capacity
        self._woken = asyncio.Event()
        self._runs: dict[str, asyncio.Task[None]] = {}
        # When a run that failed for the moment is repeated, on the loop's clock.
        self._postponed: dict[str, float] = {}
        self._graph = prepared.graph()
        self._rest_app = rest_app(
            services.rows,
            prepare=prepared.of_table,
            calls=self,
            saved=services.documents,
            strict=services.settings.strict_parameters,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look for released writes, and end those whose time is over; then let the runs end."""
        look = PeriodicTask(
            name="held_writes",
            work=self._look,
            pause_seconds=0,
            retry_seconds=PAUSE_SECONDS,
            failure_message="released writes could not be run",
        )
        async with running_tasks(look):
            yield
        await let_end(self._runs.values(), STOP_SECONDS)

    def wake(self) -> None:
        """Look at once; another process looks within a second."""
        self._woken.set()

    async def idle(self) -> None:
        """Wait until every run of this process has ended."""
        await asyncio.gather(*self._runs.values(), return_exceptions=True)

    async def _look(self) -> None:
        """Wait until it is time for a look, or one is asked for."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PAUSE_SECONDS):
                await self._woken.wait()
        self._woken.clear()
        await self.run_due()

    async def run_due(self) -> None:
        """
        Begin to run what was released, and end what nobody released in time.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        counts = await self._store.count_open()
        self._metrics.set_held_writes(counts)
        if not any(counts.values()):
            return  # a write would end what is cached of other rows
        await self._store.expire()
        now = asyncio.get_running_loop().time()
        self._postponed = {key: end for key, end in self._postponed.items() if end > now}
        others = {*self._runs, *self._postponed}
        for row in await self._store.due(CONCURRENT - len(self._runs), besides=others):
            if row.id not in self._runs:  # another look may have begun it meanwhile
                self._runs[row.id] = asyncio.create_task(self._run(row))

    async def _run(self, row: HeldWriteRow) -> None:
        """Run one write; after a failure, the next look tries again."""
        try:
            await self.release(row)
        except Exception as failure:  # noqa: BLE001 - see above
            kind = type(failure).__name__
            log.warning("a released write could not be run yet", extra={"kind": kind})
        finally:
            del self._runs[row.id]

    async def release(self, row: HeldWriteRow) -> None:
        """
        Run one released write, unless another process does, and end its row.

        The lease of the attempt is held until the row has ended: no other process begins, refuses
        or ends the same write meanwhile.

        Raises:
            Overloaded: The database did not answer.
            StorageUnavailable: As above.
        """
        attempt = await self._ledger.begin(_intent_of(row))
        if not isinstance(attempt, Attempt):
            return
        try:
            if await self._store.start(row.id):
                await self._run_attempt(attempt, row)
            await self._ledger.release(attempt, maybe_sent=attempt.maybe_sent)
        except BaseException:
            # The run was cut off, so its effect is unknown: the next attempt looks it up.
            await asyncio.shield(self._ledger.abandon(attempt))
            raise

    async def _run_attempt(self, attempt: Attempt, row: HeldWriteRow) -> None:
        """Make the call of a row, and end the row by the response."""
        try:
            content = contents.content_of(row, self._keyring)
        except ValueError:
            reason = "What was to be done can no longer be read: its key was removed."
            state = HeldState.UNKNOWN if attempt.maybe_sent else HeldState.FAILED
            await self._store.finish(row.id, state, reason)
            return
        release = _Release(row=row, content=content, attempt=attempt)
        await self._finish(release, await self._make(release))

    async def _finish(self, release: _Release, reply: RestResponse) -> None:
        """End the row by the response to its call, unless another process has taken it over."""
        row, context, attempt = release.row, release.context, release.attempt
        status, code, reason = end_of(reply, is_document=not release.content.call.path)
        if code == Code.OVERLOADED and timestamps.now_ms() < row.expires_at:
            return  # the next look tries again
        if status >= 400 and not await self._ledger.confirm(attempt):
            return
        is_again = not attempt.maybe_sent and _is_temporary(reply, status)
        if is_again and timestamps.now_ms() < row.expires_at:
            await self._postpone(release, reply)
            return
        outcome = None
        if context is not None:
            outcome = outcome_of(
                reply, status, kept_result=context.kept_result, visibility=context.visibility
            )
        if status < 400:
            state = HeldState.DONE
        elif not attempt.maybe_sent and status not in (500, 504):
            state = HeldState.FAILED
        else:
            # An attempt that ended without a result may have reached the provider.
            state, reason = HeldState.UNKNOWN, f"It may have been done. {reason}"
        await self._store.finish(row.id, state, reason or None, outcome)

    async def _postpone(self, release: _Release, reply: RestResponse) -> None:
        """Have a run of which nothing was done repeated, unless the write expires meanwhile."""
        row, named = release.row, dict(reply.headers).get("Retry-After")
        pause = int(named) if named is not None else 2 ** min(release.attempt.number, 6)
        end = asyncio.get_running_loop().time() + min(pause, MAX_PAUSE_SECONDS)
        await self._store.postpone(row.id)
        self._postponed[row.id] = end

    async def _make(self, release: _Release) -> RestResponse:
        """Make the call again."""
        stored = release.content.call
        request = made_request(
            stored.method,
            stored.path,
            stored.query,
            [pair for pair in stored.headers if pair[0] != b"content-length"],
            stored.body,
            **{KEY: RequestState(str(uuid4())), _STATE: release},
        )
        if stored.path:
            return await self._rest_app.respond(request)
        preferences = read_preferences(request.header_values("prefer"))
        call = GraphQLCall(request, self._graph, sent=stored.body, preferences=preferences)
        return await self.run(call)

    # -- the order of checks

    async def admit(self, call: Call) -> Context:
        """
        Let in the token that asked, and build its context; nothing is charged again.

        Raises:
            Refusal: 401 or 503.
        """
        scope = call.request.scope
        release: _Release = scope[_STATE]
        try:
            caller = await self._authenticator.authenticate_holder(release.row.token_id)
        except StorageUnavailable as failure:
            raise Overloaded from failure
        costs = (await call.measure(caller)).requests
        log_ = recorder.begin(EntryPoint.RELEASE, 0)
        context = self._entry.build_context(
            caller, costs, request_id=request_state(scope).request_id, log=log_
        )
        context.require_all, context.saved_document = call.partial_fail, call.document
        context.wait_for_capacity = self._wait_for_capacity
        release.context = context
        return context

    async def may_run(self, scope: Scope, bucket: RateBucket, document: str) -> bool:
        del scope, bucket, document
        return True  # the gates refuse

    def record(
        self, call: Call, context: Context, reply: RestResponse | None, bug: BaseException | None
    ) -> None:
        """Record the run, unless it is another process's."""
        codes = [error["extensions"]["code"] for error in reply.errors] if reply else []
        if Code.IDEMPOTENCY_IN_PROGRESS not in codes:
            super().record(call, context, reply, bug)

    async def _answer(self, call: Call, context: Context) -> RestResponse:
        release: _Release = call.request.scope[_STATE]
        await call.pass_gates(context)
        call.read_terms(context)
        context.effect_request = EffectRequest(
            expected=release.content.digest, approved=release.content.approved
        )

        with self.attempt(context, release.attempt):
            return await call.run(context)


def _is_temporary(reply: RestResponse, status: int) -> bool:
    """
    Return whether the same call may succeed in a moment, and surely did nothing so far.

    The second part is that of keyed calls (docs/spec/idempotency.md#what-is-kept).
    """
    if status == 429:
        return True
    cause = reply.causes[0] if status == 502 and reply.causes else None
    if isinstance(cause, Broken):
        return cause.failed
    return isinstance(cause, Unreachable) and not isinstance(cause, ClientRefused)


def _intent_of(row: HeldWriteRow) -> Intent:
    """Return what must happen once: the released write of a row."""
    return Intent(
        token_id=row.token_id,
        method="RELEASE",
        path=f"{DOOR}/{row.id}",
        key=row.id,
        fingerprint=hashlib.sha256(row.id.encode()).digest(),
    )
