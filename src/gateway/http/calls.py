"""
The order of checks of every call (docs/spec/requests.md#order-of-checks).

    authenticate → limits → gates → idempotency → run → record

A `rest_compat.calls.Call` says how it is bound and shaped; what happens in between, and when, is
here alone.
"""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial

from msgspec import structs
from starlette.types import Scope

from gateway.held_writes.store import HeldWriteStore
from gateway.http.entry import RequestEntry
from gateway.http.request_state import request_state
from gateway.store.idempotency.fence import AttemptFence
from gateway.store.idempotency.store import IdempotencyStore
from graph import errors, kept_results
from graph.context import Context
from policy.refusals import Conflict, Refusal
from policy.vocabulary import Code, WriteMode
from providers.failures import Missing, ProviderFailure, without_frames
from providers.ports.mail import SendAttempt
from providers.write_fence import fenced
from rest_compat.body import RecordedBody
from rest_compat.calls import Call
from rest_compat.ledger import Attempt, Completed, InProgress, Intent, KeyReused
from rest_compat.readers import Body
from rest_compat.responses import Content, RestResponse
from rest_compat.table import RateBucket

REPLAYED_HEADER = ("Idempotent-Replayed", "true")
EARLIER_ATTEMPTS = 3  # whose drafts an attempt looks for; each one looks for those before it


class Calls:
    """Runs calls. One per process."""

    def __init__(
        self, entry: RequestEntry, ledger: IdempotencyStore, held: HeldWriteStore | None = None
    ) -> None:
        """*held* keeps the writes that wait for a person; None: nothing is stored of them."""
        self._entry = entry
        self._ledger = ledger
        self._held = held

    def request_id(self, scope: Scope) -> str:
        return request_state(scope).request_id

    async def run(self, call: Call) -> RestResponse:
        request_id = self.request_id(call.request.scope)
        try:
            context = await self.admit(call)
        except Refusal as refusal:
            return call.finish(call.refuse(without_frames(refusal), request_id), None)
        reply: RestResponse | None = None
        bug: BaseException | None = None
        try:
            reply = await self._answer(call, context)
        except Refusal as refusal:
            reply = call.refuse(without_frames(refusal), request_id)
        except BaseException as failure:
            bug = failure
            raise
        finally:
            self.record(call, context, reply, bug)
            bug = None  # its traceback holds this frame, and so the body
        return call.finish(reply, context)

    async def admit(self, call: Call) -> Context:
        """
        Authenticate and charge a call, and build its context.

        Raises:
            Refusal: 401, 429 or 503.
        """
        scope, mount, known = call.request.scope, call.bucket.mount, call.bucket.requests
        state = request_state(scope)
        caller = state.caller or await self._entry.authenticate(scope, known, mount=mount)
        costs = (await call.measure(caller)).requests
        context = await self._entry.charge_caller(scope, caller, costs, mount=mount)
        context.require_all, context.saved_document = call.partial_fail, call.document
        context.by_link, context.wait = state.by_link, call.wait
        return context

    async def _answer(self, call: Call, context: Context) -> RestResponse:
        if self._held is not None and WriteMode.APPROVE in context.caller.write_modes:
            call.request = structs.replace(call.request, receive=RecordedBody(call.request.receive))
            context.hold_write = partial(self._held.hold, call, context)
        await call.pass_gates(context)
        key = call.read_terms(context)
        if key is None or context.stops_before_write:
            reply = await call.run(context)
        else:
            reply = await self._under_key(key, call, context)
        if reply.hold and self._held is not None:
            return await self._wait(self._held, reply, call, context)
        return reply

    async def _under_key(self, key: str, call: Call, context: Context) -> RestResponse:
        """Run *call* once under *key*, or repeat what was the outcome then."""

        async def run() -> RestResponse:
            try:
                return await call.run(context)
            except Refusal as refusal:
                return call.refuse(refusal, context.request_id)

        intent = await call.intent(key, context)
        return call.kept(await self._run_once(intent, run, context, call.body), context)

    async def _wait(
        self, held: HeldWriteStore, reply: RestResponse, call: Call, context: Context
    ) -> RestResponse:
        """Return the response to a write that waits: its own once it ran, or how it stands."""
        is_replay, context.held = not context.held, True
        if not is_replay and not context.wait:
            return reply
        context.has_waited = context.wait > 0
        ended = await held.outcome(reply.hold, context)
        if isinstance(ended, RestResponse):
            return ended
        headers = [REPLAYED_HEADER] if is_replay else []
        return call.refuse(ended, context.request_id).with_headers(*headers)

    def record(
        self, call: Call, context: Context, reply: RestResponse | None, bug: BaseException | None
    ) -> None:
        """Record an admitted call; without a *reply* it ended by *bug*."""
        if call.is_document:
            status = reply.status if reply is not None else 500 * isinstance(bug, Exception)
            self._entry.recorder.record_graphql(context, status)
            return
        ran = reply is None or reply.errors or not call.is_described
        self._entry.recorder.record_rest(context, call.operation if ran else None, reply, bug)

    async def may_run(self, scope: Scope, bucket: RateBucket, document: str) -> bool:
        caller = await self._entry.authenticate(scope, bucket.requests)
        request_state(scope).caller = caller
        return caller.may_run(document)

    def open_content(self, context: Context) -> AbstractAsyncContextManager[Content]:
        return _open_content(context)

    async def _run_once(
        self,
        intent: Intent,
        run: Callable[[], Awaitable[RestResponse]],
        context: Context,
        body: Body | None,
    ) -> RestResponse:
        """
        Run *intent* unless it was completed before (docs/spec/idempotency.md).

        Then return the stored response.

        When that response would show more than the token may see now, or has another form, the
        intent runs again with the kept result of the earlier run, and changes nothing.

        Raises:
            Refusal: 409: the key belongs to another request, or the intent is still running.
        """
        view = hashlib.sha256(intent.view + context.visibility).digest()
        attempt = await self._ledger.begin(intent)
        if isinstance(attempt, Completed):
            stored = attempt.response
            await _require_same_upload(stored, body)
            if stored.view != view and stored.kept_result and not stored.hold:
                context.repeated = kept_results.decode(stored.kept_result)
                stored = await run()
            return stored.with_headers(REPLAYED_HEADER)
        if isinstance(attempt, InProgress):
            message = "A request with this Idempotency-Key is still running."
            raise Conflict(message, code=Code.IDEMPOTENCY_IN_PROGRESS)
        if isinstance(attempt, KeyReused):
            raise _key_reused()
        try:
            with self.attempt(context, attempt):
                reply = structs.replace(await run(), view=view, kept_result=context.kept_result)
            if body is not None:
                reply = structs.replace(reply, upload_digest=body.digest)
            if reply.status == 428 and context.expected_effect is None and attempt.number == 1:
                await self._ledger.forget(attempt)  # the same key begins with the digest
            else:
                await self._close(attempt, reply)
        except BaseException:
            # The run was cut off, so its effect is unknown: the next attempt looks it up.
            await asyncio.shield(self._ledger.abandon(attempt))
            raise
        return reply

    @contextmanager
    def attempt(self, context: Context, attempt: Attempt) -> Iterator[None]:
        """Give the context what the attempt may send, and fence what it writes upstream."""
        seed = f"{context.caller.token_id}:{attempt.seed}"
        earlier = range(max(1, attempt.number - EARLIER_ATTEMPTS), attempt.number)
        names = [_message_id(f"{seed}:{number}") for number in (*earlier, attempt.number)]
        fence = AttemptFence(attempt, self._ledger)
        context.delivery = SendAttempt(
            message_id=names[-1],
            earlier_ids=tuple(names[:-1]),
            # A draft to be held is looked up by the name that an earlier attempt gave it.
            held_id=_message_id(seed),
            maybe_sent=attempt.maybe_sent,
            draft_id=attempt.draft,
            store_draft=fence.store_draft,
        )
        with fenced(fence):
            yield

    async def _close(self, attempt: Attempt, reply: RestResponse) -> None:
        """
        Store the response, or release the key when a retry should run again.

        401, 428, 429 and every 5xx but 504 are released: a 428 shows an effect, which is never
        stored, and nothing was done. A 504 may hide a success, so it is stored. A 500 is a bug that
        may have struck after the provider accepted the call; the other statuses say that nothing
        was done (docs/spec/idempotency.md#what-is-kept).
        """
        status = reply.outcome_status or reply.status
        if status in {401, 428, 429} or (status >= 500 and status != 504):
            maybe_sent = attempt.maybe_sent or status == 500
            await self._ledger.release(attempt, maybe_sent=maybe_sent)
        else:
            await self._ledger.complete(attempt, reply)


async def _require_same_upload(stored: RestResponse, body: Body | None) -> None:
    """
    Compare a streamed body's digest with the stored one.

    When the key was looked up, only the body's length and type were known.

    Raises:
        Refusal: 409: the digests differ; or as `Body.drain`.
    """
    if not stored.upload_digest or body is None:
        return
    await body.drain()
    if body.digest != stored.upload_digest:
        raise _key_reused()


def _key_reused() -> Refusal:
    message = "This Idempotency-Key was used with another request."
    return Conflict(message, code=Code.IDEMPOTENCY_KEY_REUSED)


def _message_id(seed: str) -> str:
    """Return the local part of a Message-ID that cannot be guessed without *seed*."""
    digest = hashlib.sha256(seed.encode()).digest()[:20]
    return base64.b32encode(digest).decode().lower()


class _ContentFailed(Refusal):
    """The provider did not hand out the bytes of a file."""

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__(errors.message(failure), code=errors.code_of(failure))
        self.retry_after = getattr(failure, "retry_after", None)


@asynccontextmanager
async def _open_content(context: Context) -> AsyncIterator[Content]:
    """Open the attachment that the operation found; failures of its provider become refusals."""
    try:
        if context.attachment is None:
            raise Missing
        known = context.attachment.attachment
        async with context.attachment.open() as content:
            yield Content(known.name, known.content_type, content.size, content.chunks)
    except ProviderFailure as failure:
        raise _ContentFailed(failure) from failure
