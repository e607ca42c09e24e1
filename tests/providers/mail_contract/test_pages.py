"""Every mail connector: order and pages of messages."""

import pytest
from mail_upstreams import LISTED
from msgspec.structs import replace

from providers.ports.mail import MailQuery
from providers.records.base import to_epoch_ms


@pytest.mark.parametrize("limit", [1, 7, 20, 50])
async def test_pages_neither_lose_nor_repeat_messages(account, limit):
    ids = [account.add(f"Mail {number}", at=number // 4) for number in range(61)]

    emails = await account.every(MailQuery(limit=limit), projection={"subject"})

    assert sorted(email.id for email in emails) == sorted(ids)
    ranks = [(-to_epoch_ms(email.received_at), email.id) for email in emails]
    assert ranks == sorted(ranks)


async def test_mail_that_arrives_between_pages_does_not_change_them(account):
    ids = [account.add(f"Mail {number}", at=number // 3) for number in range(20)]

    def arrive(page):
        account.add(f"Late {page}", at=1000 + page)

    emails = await account.every(MailQuery(limit=3), projection=LISTED, between=arrive)

    assert sorted(email.id for email in emails) == sorted(ids)


async def test_messages_of_one_instant_may_fill_several_pages(account):
    ids = [account.add(f"Same {number}", at=5) for number in range(30)]

    emails = await account.every(MailQuery(limit=4), projection={"subject"})

    assert [email.id for email in emails] == sorted(ids)


async def test_all_that_match_are_counted(account):
    for number in range(9):
        account.add(f"Mail {number}", at=number)

    answer = await account.port.search(MailQuery(limit=4), after=None, projection={"subject"})

    assert (len(answer.emails), answer.total, answer.total_exact) == (4, 9, True)


async def test_an_empty_mailbox_is_an_empty_answer(account):
    answer = await account.port.search(MailQuery(), after=None, projection=LISTED)

    assert answer.emails == ()
    assert (answer.exhausted, answer.total, answer.total_exact) == (True, 0, True)


async def test_a_first_page_is_what_one_search_finds(account):
    people = frozenset({"from_", "to", "cc"})
    account.add("Sender", author="Dora Dean <dora@west.example>", at=1)
    account.add("Copy", cc="Dora Dean <dora@west.example>", at=2)
    account.add("Subject: dora", body="dora", at=3)
    account.add("Junk", author="Dora Dean <dora@west.example>", folder="spam", at=4)
    query = MailQuery(text="dora", text_fields=people, text_beyond=False, limit=50)

    page = await account.port.first_page(query, projection=people)
    hidden = await account.port.first_page(
        replace(query, text_fields=frozenset({"to", "cc"})), projection={"to", "cc"}
    )

    assert page.exhausted
    assert [email.received_at.second for email in page.emails] == [2, 1]
    assert [email.received_at.second for email in hidden.emails] == [2]
    assert [email.from_ for email in hidden.emails] == [None]


async def test_a_first_page_says_whether_more_follows(account):
    people = frozenset({"from_", "to", "cc"})
    for number in range(60):
        account.add(f"Mail {number}", author="Dora Dean <dora@west.example>", at=number)
    query = MailQuery(text="dora", text_fields=people, text_beyond=False, limit=50)

    page = await account.port.first_page(query, projection=people)

    size = {"PROVIDER_A": 25, "PROVIDER_B": 60}.get(account.provider, 50)
    assert (len(page.emails), page.exhausted) == (size, size == 60)
