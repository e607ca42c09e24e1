"""The call log of an upstream keeps the newest calls in little memory."""

import tracemalloc

import pytest

from sandbox.call_log import MOST_CALLS, CallLog, describe_call
from sandbox.http import Request


def call_of(number):
    """Describe a call like those of a listing: long parameters, and an id of its own."""
    request = Request(
        method="GET",
        segments=("gmail", "v1", "users", "me", "messages", f"{number * 7919:016x}"),
        query=(("format", "metadata"), ("metadataHeaders", "Subject"), ("access_token", "t")),
        headers={"accept": "application/json", "authorization": "Bearer x", "user-agent": "a/1"},
    )
    return describe_call(request, None, shows_document=False)


@pytest.mark.slow
def test_a_full_log_takes_little_memory():
    tracemalloc.start()
    try:
        log = CallLog()
        for number in range(MOST_CALLS + 5000):
            log.append(call_of(number))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert held <= 2 * 1024 * 1024


def test_the_newest_calls_are_kept_in_order():
    log = CallLog()
    for number in range(MOST_CALLS + 5000):
        log.append({"number": number})

    numbers = [call["number"] for call in log]
    assert MOST_CALLS - 250 < len(log) == len(numbers) <= MOST_CALLS
    assert numbers == [*range(MOST_CALLS + 5000 - len(numbers), MOST_CALLS + 5000)]
    assert (log[0]["number"], log[-1]["number"]) == (numbers[0], numbers[-1])


def test_a_deleted_log_is_empty():
    log = CallLog()
    for number in range(600):
        log.append({"number": number})
    log.clear()

    assert (len(log), list(log)) == (0, [])


def test_a_logged_call_is_as_it_was_described():
    log, described = CallLog(), [call_of(number) for number in range(600)]
    for call in described:
        log.append(call)

    assert list(log) == described
    assert described[0]["query"]["access_token"] == ["…"]
    assert described[0]["headers"] == {"accept": "application/json", "user-agent": "a/1"}
