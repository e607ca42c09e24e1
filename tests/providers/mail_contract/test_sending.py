"""Every mail connector: a message is sent once."""

from dataclasses import replace

import pytest
from mail_cases import BOB, Row, draft
from mail_upstreams import ALL

from providers.failures import Broken, OutcomeUnknown, Refused, Throttled, Unreachable
from providers.mail import delivery
from providers.ports.mail import WITHDRAWN, SendAttempt, UnsafeMessage
from providers.records.mail import Participant
from providers.write_fence import TakenOver


async def test_a_message_is_sent(account):
    await account.port.send(
        draft(
            cc=(Participant(email="carl@east.example"),),
            bcc=(Participant(email="dora@west.example", name="Dörte"),),
            subject="Grüße =?utf-8?q?x?=",
            importance="high",
        )
    )

    (mail,) = account.stored(folder="sent")
    email = await account.port.get(mail.immutable_id, projection=ALL)
    assert email.subject == "Grüße =?utf-8?q?x?="
    assert (email.to, email.cc) == ((BOB,), (Participant(email="carl@east.example"),))
    assert email.bcc == (Participant(email="dora@west.example", name="Dörte"),)
    assert ("See you." in email.body, email.body_type) == (True, "html")
    assert email.importance == "high"


async def test_text_bodies_stay_text(account):
    await account.port.send(draft(body="a < b\nc", body_type="text"))

    (mail,) = account.stored(folder="sent")
    assert b"text/plain" in mail.raw
    assert b"text/html" not in mail.raw


async def test_a_retry_after_a_send_sends_nothing(account):
    row = Row()
    await account.port.send(draft(row.attempt()))
    account.forget_calls()

    await account.port.send(draft(row.attempt(maybe_sent=True)))

    assert len(account.stored(folder="sent")) == 1
    assert [call["method"] for call in account.calls] == ["GET"]


async def test_the_draft_is_committed_before_it_is_sent(account):
    row = Row()
    calls = []

    async def store(draft_id):
        calls.extend(call["method"] for call in account.calls)
        await row.store(draft_id)

    await account.port.send(
        draft(SendAttempt(message_id="one.1@gw.example", draft_id=None, store_draft=store))
    )

    assert calls == ["POST"]
    assert len(row.stored) == 1
    assert len(account.stored(folder="sent")) == 1


async def test_an_attempt_that_was_taken_over_deletes_its_draft(account):
    row = Row()
    row.failure = TakenOver()

    with pytest.raises(TakenOver):
        await account.port.send(draft(row.attempt()))

    assert account.stored() == []


async def test_a_draft_of_unknown_commit_stays_for_the_retry(account):
    row = Row()

    async def store(draft_id):
        await row.store(draft_id)
        raise OSError

    with pytest.raises(OSError):
        await account.port.send(draft(SendAttempt(message_id="a@gw.example", store_draft=store)))
    assert [mail.folder for mail in account.stored()] == ["drafts"]

    await account.port.send(draft(row.attempt(maybe_sent=True)))

    assert [mail.folder for mail in account.stored()] == ["sent"]
    assert len(row.stored) == 1


async def test_a_retry_sends_a_message_that_was_not_sent(account):
    await account.port.send(draft(Row().attempt(maybe_sent=True)))

    assert len(account.stored(folder="sent")) == 1


async def test_a_draft_that_was_being_deleted_is_of_unknown_outcome(account):
    row = Row()
    row.draft = WITHDRAWN

    with pytest.raises(OutcomeUnknown):
        await account.port.send(draft(row.attempt(maybe_sent=True)))

    assert account.calls == []


@pytest.mark.parametrize("kind", ["lostAnswer", "spoiltAnswer"])
async def test_a_message_sent_without_a_response_is_found(account, kind):
    account.fault(kind=kind, count=1, match="send", method="POST")

    await account.port.send(draft())

    assert len(account.stored(folder="sent")) == 1
    assert account.stored(folder="drafts") == []


async def test_a_lost_creation_sends_nothing(account, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    account.fault(kind="reset", count=1, match="", method="POST")

    with pytest.raises(Unreachable) as caught:
        await account.port.send(draft(Row().attempt()))

    assert caught.value.sent is False
    assert account.stored() == []


async def test_a_draft_whose_response_was_lost_is_found_and_sent(account):
    account.fault(kind="lostAnswer", count=1, match="", method="POST")
    row = Row()

    await account.port.send(draft(row.attempt()))

    assert [mail.folder for mail in account.stored()] == ["sent"]
    assert len(row.stored) == 1


async def test_a_retry_deletes_the_drafts_of_earlier_attempts_and_no_others(account, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    account.fault(kind="lostAnswer", count=1, match="", method="POST")
    account.fault(kind="503", method="GET")  # of every look-up
    with pytest.raises(Unreachable):
        await account.port.send(draft(Row().attempt()))
    account.upstream.faults.clear()
    row = Row()
    row.failure = OSError()
    with pytest.raises(OSError):  # the process died before its commit
        await account.port.send(draft(row.attempt("one.2@gw.example")))
    with pytest.raises(OSError):
        await account.port.send(draft(row.attempt("other.1@gw.example"), subject="Another"))
    assert len(account.stored(folder="drafts")) == 3

    row.failure = None
    earlier = ("one.1@gw.example", "one.2@gw.example")
    await account.port.send(
        draft(replace(row.attempt("one.3@gw.example", maybe_sent=True), earlier_ids=earlier))
    )

    assert len(account.stored(folder="sent")) == 1
    assert [b"Another" in mail.raw for mail in account.stored(folder="drafts")] == [True]


async def test_a_retry_sends_although_no_draft_can_be_looked_up(account):
    account.fault(kind="503", method="GET")
    attempt = replace(Row().attempt("one.2@gw.example"), earlier_ids=("one.1@gw.example",))

    await account.port.send(draft(attempt))

    assert [mail.folder for mail in account.stored()] == ["sent"]


async def test_a_failed_send_is_not_repeated_and_may_be_retried(account, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    row = Row()
    account.fault(kind="500", count=1, match="send", method="POST")
    with pytest.raises(Broken):
        await account.port.send(draft(row.attempt()))
    assert (account.stored(), row.draft) == ([], None)

    await account.port.send(draft(row.attempt()))

    assert [mail.folder for mail in account.stored()] == ["sent"]


async def test_a_refused_send_leaves_no_draft(account):
    row = Row()
    account.fault(kind="400", count=1, match="send", method="POST")

    with pytest.raises(Refused):
        await account.port.send(draft(row.attempt()))

    assert (account.stored(), row.draft) == ([], None)


async def test_an_outcome_that_cannot_be_looked_up_is_unknown(account, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    account.fault(kind="lostAnswer", count=1, match="send", method="POST")
    account.fault(kind="503", method="GET")
    account.fault(kind="503", method="DELETE")

    with pytest.raises(OutcomeUnknown):
        await account.port.send(draft(Row().attempt()))

    assert [mail.folder for mail in account.stored()] == ["sent"]


async def test_a_throttled_send_leaves_its_draft_to_the_retry(account):
    row = Row()
    account.fault(kind="429", retryAfter=7, count=1, match="send", method="POST")

    with pytest.raises(Throttled) as caught:
        await account.port.send(draft(row.attempt()))

    assert caught.value.retry_after == 7
    assert [mail.folder for mail in account.stored()] == ["drafts"]
    assert row.stored == [row.draft]


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "Plan\r\nBcc: eve@evil.example"},
        {"subject": "Plan\u2028"},
        {"subject": "Plan\ud800"},
        {"to": (Participant(email="bob@south.example", name="Bob\r\nBcc: eve@evil.example"),)},
        {"attempt": SendAttempt(message_id="x>\r\nBcc: eve@evil.example")},
    ],
    ids=["line break", "line separator", "surrogate", "name", "message id"],
)
async def test_an_unsafe_message_is_not_sent(account, changes):
    with pytest.raises(UnsafeMessage):
        await account.port.send(draft(**changes))

    assert account.stored() == []


async def test_a_send_that_is_not_answered_leaves_time_to_look_it_up(account, monkeypatch):
    monkeypatch.setattr(delivery, "SEND_SECONDS", 3.0)
    monkeypatch.setattr(delivery, "LOOKUP_SECONDS", 2.7)
    account.fault(kind="drip", delay=0.6, count=1, match="send", method="POST")

    with delivery.time_limit():
        await account.port.send(draft(Row().attempt()))

    assert [mail.folder for mail in account.stored()] == ["sent"]


@pytest.mark.slow
async def test_an_upstream_that_answers_nothing_is_of_unknown_outcome(account, monkeypatch):
    monkeypatch.setattr(delivery, "SEND_SECONDS", 0.5)
    monkeypatch.setattr(delivery, "LOOKUP_SECONDS", 0.25)
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    row = Row()

    async def store(draft_id):
        if draft_id:
            account.fault(kind="timeout")
        await row.store(draft_id)

    with delivery.time_limit(), pytest.raises(OutcomeUnknown):
        await account.port.send(draft(SendAttempt(message_id="a@gw.example", store_draft=store)))

    assert [mail.folder for mail in account.stored()] == ["drafts"]
