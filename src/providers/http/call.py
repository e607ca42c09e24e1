"""
One upstream call: token, deadline, retry, and the failure that comes of it.

From the outside in: `perform` and `stream` set the deadline and renew a refused token,
`attempt.Attempt` takes a slot, asks the circuit breaker and calls the transport.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext

from providers.failures import (
    ClientRefused,
    NeedsReauth,
    ProviderFailure,
    Throttled,
    TimedOut,
    Unreachable,
)
from providers.http import errors as http_errors
from providers.http import failed_responses
from providers.http.attempt import Attempt, Call, fetch, headers_of, read, read_chunks
from providers.http.resilience import CircuitOpen
from providers.http.response import Response, StreamedResponse
from providers.http.retry_after import BUDGET_HEADER, parse_retry_after, wait_for_budget

_NO_LIMIT = nullcontext()
MAX_RETRY_DELAY_SECONDS = 0.5  # a delay is random, up to this or half of the time left


async def perform(call: Call, *, retry: bool | None) -> Response:
    """
    Make the call, retry it at most once, and read the whole response.

    Args:
        call: Not begun.
        retry: Whether it may be repeated after it may have been carried out; None: reads only.

    Raises:
        ProviderFailure: The failure of the last attempt.
    """
    health = call.health
    if health.throttle.until:
        health.throttle.check()
    health.budget.deposit()
    try:
        with call.limit if call.owns_limit else _NO_LIMIT:
            for is_last in (False, True):
                try:
                    token = await _token(call)
                    response = await fetch(call, token)
                    if response.status == 401 and token is not None:
                        response = await _fetch_with_new_token(call, token)
                except (Unreachable, TimedOut) as failure:
                    is_final = is_last or isinstance(failure, CircuitOpen | ClientRefused)
                    if is_final or not await _may_repeat(call, retry=retry, sent=failure.sent):
                        raise
                else:
                    is_final = is_last or response.status < 400 or not _is_transient(response)
                    if is_final or not await _may_repeat(call, retry=retry, sent=True):
                        break
            return _checked(call, response)
    except TimeoutError:
        raise TimedOut(sent=call.sent) from None


def _is_transient(response: Response) -> bool:
    """Return whether the same call may succeed in a moment."""
    status = response.status
    return status in http_errors.TRANSIENT_STATUSES and "retry-after" not in response.headers


async def _may_repeat(call: Call, *, retry: bool | None, sent: bool) -> bool:
    """Tell, after a while, whether a call may be repeated; *retry* as in `perform`."""
    is_harmless = (call.is_read if retry is None else retry) or not sent
    return is_harmless and call.repeatable and await _back_off(call)


@asynccontextmanager
async def stream(call: Call) -> AsyncIterator[StreamedResponse]:
    """Make the call without retries and yield its response as it arrives; see `perform`."""
    call.health.throttle.check()
    try:
        with call.limit if call.owns_limit else _NO_LIMIT:
            token = await _token(call)
            for is_last in (False, True):
                async with Attempt(call, token) as incoming:
                    if call.accepts(incoming.status):
                        headers, encoding = headers_of(incoming)
                        _note_success(call, headers)
                        chunks = read_chunks(call, incoming, encoding, max_bytes=call.max_bytes)
                        yield StreamedResponse(incoming.status, headers, chunks)
                        return
                    response = await read(call, incoming)
                if response.status != 401 or token is None or is_last:
                    _checked(call, response)
                token = await _token(call, rejected=token)
    except TimeoutError:
        if not call.limit.expired:  # a timeout of the caller's own
            raise
        raise TimedOut(sent=call.sent) from None


async def _back_off(call: Call) -> bool:
    """Wait before a retry; return False, at once, when none is allowed."""
    left = call.limit.ends - asyncio.get_running_loop().time()
    if left <= 0 or not call.health.budget.withdraw():
        return False
    await call.clock.sleep(
        secrets.SystemRandom().uniform(0.0, min(MAX_RETRY_DELAY_SECONDS, left / 2))
    )
    return True


async def _fetch_with_new_token(call: Call, refused: str) -> Response:
    """
    Attempt the call again, after a token was refused.

    Raises:
        NeedsReauth: The new token is refused as well; it names the place to reconnect.
    """
    token = await _token(call, rejected=refused)
    response = await fetch(call, token)
    if response.status == 401:
        failed_responses.collect(call.upstream, call.connection, response)
        await _token(call, rejected=token)  # raises, with the place to reconnect
    return response


async def _token(call: Call, *, rejected: str | None = None) -> str | None:
    if call.credentials is None:
        return None
    try:
        token = await call.credentials.token(rejected=rejected)
    except (ClientRefused, NeedsReauth, Throttled):
        raise
    except TimedOut:
        raise TimedOut(sent=False) from None
    except ProviderFailure:  # of the token endpoint: this call was not sent
        raise Unreachable(sent=False) from None
    if rejected is not None and not call.repeatable:
        # Refused before it was carried out, and the body is consumed: the caller may start over.
        raise Unreachable(sent=False)
    return token


def _checked(call: Call, response: Response) -> Response:
    """Return an accepted response; raise the failure that another one stands for."""
    if 200 <= response.status < 300 or response.status in call.accept:
        _note_success(call, response.headers)
        return response
    failed_responses.collect(call.upstream, call.connection, response)
    raise _failure_of(call, response)


def _note_success(call: Call, headers: Mapping[str, str]) -> None:
    """End the guesses of waits; stop further calls when the budget of upstream is spent."""
    call.health.throttle.reset()
    if BUDGET_HEADER in headers:
        wait = wait_for_budget(headers)
        if wait is not None:
            call.health.throttle.extend(wait)


def _failure_of(call: Call, response: Response) -> ProviderFailure:
    """Return the failure that a response which is not accepted stands for; note its throttle."""
    if response.status == 401:
        return NeedsReauth()
    failure = _classified(call, response)
    wait = parse_retry_after(response.headers.get("retry-after"), call.clock.now())
    if isinstance(failure, Throttled):
        return call.health.throttle.extend(wait or failure.named)
    throttled = response.status == 503 and wait is not None and failure is None
    if response.status == 429 or throttled:
        return call.health.throttle.extend(wait)
    return failure or http_errors.failure_of_status(response.status)


def _classified(call: Call, response: Response) -> ProviderFailure | None:
    if call.classify is None:
        return None
    try:
        return call.classify(response)
    except ProviderFailure:  # the body violates the protocol
        return None
