"""
Looks for changes in the background, for the subscriptions: one loop of each process.

A look is the call `GET /api/access/changes` with the token of the subscription: the same gates,
masks and rules. It is not charged, and it is no row of the decision log: what it finds is told to
nobody but as "there is something" (docs/spec/changes.md#subscriptions).
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import uuid4

import msgspec
import orjson
from starlette.types import Scope

from gateway.documents import prepared
from gateway.errors import Overloaded
from gateway.http.calls import Calls
from gateway.http.request_state import KEY, RequestState, request_state
from gateway.store.background import PeriodicTask, let_end, running_tasks
from gateway.store.database import StorageUnavailable
from gateway.store.further_tables import FeedSubscription
from graph.changes import state
from graph.changes.queries import MAX_LIMIT
from graph.context import Context
from policy.gates import SubscriptionsNotAllowed, require_subscriptions_allowed
from policy.refusals import Unauthenticated
from rest_compat.calls import Call
from rest_compat.request import made_request
from rest_compat.responses import RestResponse
from rest_compat.router import rest_app
from rest_compat.table import ENDPOINTS, RateBucket, changes

if TYPE_CHECKING:
    from gateway.services import Services

PAUSE_SECONDS = 1.0  # between two looks for what is due
REST_SECONDS = 30.0  # the same while there are no subscriptions
CONCURRENT = 4  # looks of one process
STOP_SECONDS = 10.0  # that they may still take when the process stops
_STATE = "gateway.polls"  # scope key of the `_Look`

log = logging.getLogger("gateway")


class _Look(msgspec.Struct):
    """One look; *is_over*: its token may not be told of changes any more."""

    row: FeedSubscription
    is_over: bool = False


class Polls(Calls):
    """Looks for changes. One per process."""

    def __init__(self, services: "Services") -> None:
        super().__init__(services.entry, services.idempotency)
        self._store = services.subscriptions
        self._keyring = services.keyring
        self._authenticator = services.authenticator
        self._look_soon = services.webhooks.look_soon
        self._looks: set[asyncio.Task[None]] = set()
        self._has_any = True
        self._has_room = asyncio.Event()
        rows = [row for row in ENDPOINTS if row.path == changes.path]
        self._rest_app = rest_app(rows, prepare=prepared.of_table, calls=self)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look for what is due; then let the looks end."""
        task = PeriodicTask(
            name="feed_polls",
            work=self._turn,
            pause_seconds=0,
            retry_seconds=PAUSE_SECONDS,
            failure_message="subscriptions to changes could not be looked at",
        )
        async with running_tasks(task):
            yield
        await let_end(self._looks, STOP_SECONDS)

    async def idle(self) -> None:
        """Wait until every look of this process has ended."""
        await asyncio.gather(*self._looks, return_exceptions=True)

    async def _turn(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(PAUSE_SECONDS if self._has_any else REST_SECONDS):
                await self._has_room.wait()
        self._has_room.clear()
        self._has_any = await self.run_due() > 0 or await self._store.has_any()

    async def run_due(self) -> int:
        """
        Begin the looks that are due, as many as there is room for; return how many.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        taken = await self._store.take(CONCURRENT - len(self._looks))
        for row in taken:
            task = asyncio.create_task(self._look(row))
            self._looks.add(task)
            task.add_done_callback(self._ended)
        return len(taken)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._looks.discard(task)
        if len(self._looks) <= CONCURRENT // 2:  # others may be due: take several in one statement
            self._has_room.set()

    async def _look(self, row: FeedSubscription) -> None:
        """Look once; what goes wrong here is repeated when the lease has ended."""
        with suppress(StorageUnavailable, Overloaded):
            look = _Look(row)
            reply = await self._ask(look)
            if look.is_over:
                await self._store.end(row.id)
            elif reply.status != 200:
                await self._store.postpone(row)
            else:
                page = orjson.loads(reply.body)
                codes = [each["code"] for each in page["upTo"]]
                await self._store.looked(
                    row,
                    page["cursor"],
                    has_rows=bool(page["changes"]),
                    failed=bool(codes) and None not in codes,
                )
                if page["changes"]:
                    self._look_soon()

    async def _ask(self, look: _Look) -> RestResponse:
        since = state.cursor_of(look.row.position, self._keyring, look.row.token_id)
        request = made_request(
            "GET",
            changes.path.encode(),
            urlencode({"since": since, "limit": MAX_LIMIT}).encode(),
            [],
            b"",
            **{KEY: RequestState(str(uuid4())), _STATE: look},
        )
        return await self._rest_app.respond(request)

    # -- the order of checks

    async def admit(self, call: Call) -> Context:
        """
        Let in the token that subscribed, and build its context; nothing is charged.

        Raises:
            Refusal: 401, 403 or 503.
        """
        scope = call.request.scope
        look: _Look = scope[_STATE]
        try:
            caller = await self._authenticator.authenticate_holder(look.row.token_id)
            require_subscriptions_allowed(caller.grant)
        except (Unauthenticated, SubscriptionsNotAllowed):
            look.is_over = True
            raise
        except StorageUnavailable as failure:
            raise Overloaded from failure
        costs = (await call.measure(caller)).requests
        return self._entry.build_context(caller, costs, request_id=request_state(scope).request_id)

    async def may_run(self, scope: Scope, bucket: RateBucket, document: str) -> bool:
        del scope, bucket, document
        return True  # the gates refuse

    def record(
        self, call: Call, context: Context, reply: RestResponse | None, bug: BaseException | None
    ) -> None:
        """Record nothing: see above."""
