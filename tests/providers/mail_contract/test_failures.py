"""Every mail connector: failures and throttles of upstream."""

import asyncio

import pytest
from mail_upstreams import LISTED, TEXT

from providers.failures import Throttled, TimedOut, Unreachable
from providers.ports.mail import MailQuery


async def test_a_throttle_is_reported_with_its_wait(account):
    account.add("Hello")
    account.fault(kind="429", retryAfter=9)

    with pytest.raises(Throttled) as caught:
        await account.port.search(MailQuery(), after=None, projection=LISTED)

    assert caught.value.retry_after == 9


async def test_pages_of_fifty_for_three_callers_stay_within_what_an_account_may_do(account):
    """Upstream limits what an account runs at once; the calls of all callers share that."""
    for number in range(60):
        account.add(f"Mail {number}", body="unity " * 3, at=number)
    query = MailQuery(text="unity", text_fields=TEXT, limit=50)

    pages = await asyncio.gather(
        *(account.port.search(query, after=None, projection=LISTED) for _ in range(3))
    )

    newest = [f"Mail {number}" for number in range(59, 9, -1)]
    assert [[email.subject for email in page.emails] for page in pages] == [newest] * 3
    assert [call for call in account.calls if call["fault"] is not None] == []
    assert len(account.batches) == 3 * account.batches_of_fifty
    assert max(map(len, account.batches)) <= {"PROVIDER_A": 25, "PROVIDER_B": 20}[account.provider]
    assert account.clock.sleeps == []


async def test_what_others_run_for_the_account_delays_a_page(account):
    for number in range(3):
        account.add(f"Mail {number}", body="unity", at=number)
    limit = account.upstream.concurrency
    limit.most = 2

    page = await account.port.search(
        MailQuery(text="unity", text_fields=TEXT), after=None, projection=LISTED
    )

    assert [email.subject for email in page.emails] == ["Mail 2", "Mail 1", "Mail 0"]
    assert [call["fault"] for call in account.calls if call["batch"]].count("concurrency") == 1
    assert account.clock.sleeps == [1]


async def test_a_broken_connection_is_a_failure(account):
    account.add("Hello")
    account.fault(kind="reset")

    with pytest.raises((Unreachable, TimedOut)):
        await account.port.search(MailQuery(), after=None, projection=LISTED)


async def test_a_probe_reads(account):
    await account.port.probe()

    assert {call["method"] for call in account.calls} == {"GET"}
