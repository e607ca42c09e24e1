"""Both providers as one mailbox, over the sandbox."""

import pytest
from mail_upstreams import LISTED, TEXT, opened_together

from providers.failures import ProviderFailure
from providers.mail.merged_mailbox import MergedMailbox
from providers.ports.mail import MailQuery
from providers.records.base import to_epoch_ms

QUERIES = {
    "everything": {},
    "a word of the subject": {"subject": "mail"},
    "a word": {"text": "mail", "text_fields": TEXT},
    "a word where the body is hidden": {"text": "mail", "text_fields": TEXT - {"body"}},
}


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 7, 20, 50])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
async def test_pages_neither_lose_nor_repeat_messages_while_mail_arrives_and_one_mailbox_fails(
    query, limit
):
    async with opened_together("PROVIDER_A", "PROVIDER_B") as accounts:
        expected = sorted(
            f"{prefix}:{account.add(f'Mail {number}', at=number // 3)}"
            for prefix, account in zip(("providerA", "providerB"), accounts, strict=True)
            for number in range(12)
        )
        mailbox = MergedMailbox([(account.info, account.port) for account in accounts])
        emails, positions, pages, more = [], {}, 0, True
        while more:
            pages += 1
            assert pages < 120
            failing = accounts[pages % 2] if pages % 3 == 1 else None
            if failing:
                failing.fault(kind="403")
            try:
                page = await mailbox.search(
                    MailQuery(limit=limit, **query), positions=positions, projection=LISTED
                )
            except ProviderFailure:
                continue
            finally:
                for account in accounts:
                    account.upstream.faults.clear()
            assert len(page.emails) <= limit
            emails += page.emails
            positions, more = page.positions, page.has_more
            for account in accounts:
                account.add(f"Late mail {pages}", at=10_000 + pages)

    early = [email.id for email in emails if not email.subject.startswith("Late")]
    assert sorted(early) == expected
    assert len({email.id for email in emails}) == len(emails)


async def test_pages_are_in_order_over_both():
    async with opened_together("PROVIDER_A", "PROVIDER_B") as accounts:
        for number in range(30):
            accounts[number % 2].add(f"Mail {number}", at=number // 4)
        mailbox = MergedMailbox([(account.info, account.port) for account in accounts])

        first = await mailbox.search(MailQuery(limit=20), positions={}, projection=LISTED)
        second = await mailbox.search(
            MailQuery(limit=20), positions=first.positions, projection=LISTED
        )

    ranks = [
        (-to_epoch_ms(email.received_at), email.id) for email in (*first.emails, *second.emails)
    ]
    assert ranks == sorted(ranks)
    assert [len(first.emails), len(second.emails)] == [20, 10]
    assert (first.total, first.total_exact, first.has_more) == (30, True, True)
    assert (second.total, second.total_exact, second.has_more) == (30, True, False)
