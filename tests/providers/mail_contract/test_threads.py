"""Every mail connector: threads, alone and in batches."""

import pytest
from mail_cases import HOSTILE_IDS
from mail_upstreams import ALL

from providers.failures import Missing


async def test_a_thread_is_oldest_first_without_drafts_and_trash(account):
    first = account.add("Plan", at=1, message_id="<one@north.example>")
    thread = account.stored()[0].thread_id
    account.add("Re: Plan", at=4, thread=thread)
    account.add("Re: Plan, thrown away", at=3, thread=thread, folder="trash")
    account.add("Re: Plan, begun", at=5, thread=thread, folder="drafts")
    account.add("Re: Plan, earlier", at=2, thread=thread, folder="sent")
    account.add("Another", at=3)

    answer = await account.port.thread(thread, projection=ALL)

    assert [email.subject for email in answer.messages] == ["Plan", "Re: Plan, earlier", "Re: Plan"]
    assert answer.messages[0].id == first
    assert {email.thread_id for email in answer.messages} == {thread} == {answer.id}
    assert all(email.body for email in answer.messages)


async def test_a_long_thread_is_read_completely(account):
    account.add("Plan", at=0)
    thread = account.stored()[0].thread_id
    for number in range(1, 70):
        account.add(f"Re: Plan {number}", at=number, thread=thread)

    answer = await account.port.thread(thread, projection={"subject"})

    assert len(answer.messages) == 70
    assert answer.messages[-1].subject == "Re: Plan 69"


async def test_messages_and_threads_are_read_in_one_batch_each(account):
    ids = [account.add(f"Plan {number}", at=number) for number in range(12)]
    threads = [email.thread_id for email in account.stored()]
    alone = [await account.port.thread(name, projection=ALL) for name in threads]
    each = [await account.port.get(name, projection=ALL) for name in ids]
    account.forget_calls()

    read_threads = await account.port.threads(threads, projection=ALL - {"body", "body_type"})
    read_emails = await account.port.get_many(ids, projection=ALL)

    assert [len(calls) for calls in account.batches] == [12, 12]
    assert read_emails == dict(zip(ids, each, strict=True))
    assert {name: [email.id for email in read.messages] for name, read in read_threads.items()} == {
        read.id: [email.id for email in read.messages] for read in alone
    }


@pytest.mark.parametrize("name", HOSTILE_IDS)
async def test_invalid_and_missing_ids_are_left_out_of_a_batch(account, name):
    known = account.add("Hello")
    thread = account.stored()[0].thread_id
    cut, end = (6, "000000") if account.provider == "PROVIDER_A" else (9, "AAAAA_AA=")
    unknown = known[:-cut] + end
    account.add("Gone", folder="trash")
    (gone,) = {email.thread_id for email in account.stored()} - {thread}

    emails = await account.port.get_many([name, known, unknown], projection=ALL)
    threads = await account.port.threads([gone, thread, name], projection=ALL)

    assert list(emails) == [known]
    assert list(threads) == [thread]


async def test_a_long_thread_in_a_batch_is_read_completely(account):
    account.add("Plan", at=0)
    thread = account.stored()[0].thread_id
    for number in range(1, 70):
        account.add(f"Re: Plan {number}", at=number, thread=thread)
    account.add("Another", at=80)
    (other,) = {email.thread_id for email in account.stored()} - {thread}

    threads = await account.port.threads([thread, other], projection={"subject"})

    assert {name: len(read.messages) for name, read in threads.items()} == {thread: 70, other: 1}


async def test_a_thread_of_trash_alone_is_missing(account):
    account.add("Gone", folder="trash")

    with pytest.raises(Missing):
        await account.port.thread(account.stored()[0].thread_id, projection=ALL)
