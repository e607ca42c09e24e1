"""Routing of ids to mailboxes."""

from dataclasses import dataclass, field

import pytest

from providers.failures import Broken, Missing, NeedsReauth, OutcomeUnknown, Throttled, Unreachable
from providers.http.client import deadline
from providers.mail.merged_mailbox import MergedMailbox
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import (
    WITHDRAWN,
    Draft,
    Forward,
    MailChange,
    ReadOnlyMailbox,
    Reply,
    SendAttempt,
)
from providers.records import mail as mail_records
from providers.records.mail import Participant

BOB = Participant(email="bob@south.example")
REPLY = Reply(body="", attempt=SendAttempt(message_id="r@gw.example"))
FORWARD = Forward(to=(BOB,), attempt=SendAttempt(message_id="f@gw.example"))


@dataclass
class Box:
    """A port that holds some ids, or fails."""

    holds: str = ""
    failure: Exception | None = None
    calls: list[str] = field(default_factory=list)

    async def get(self, message_id, *, projection):
        self._called("get", message_id)
        return mail_records.Email(id=message_id, provider="PROVIDER_A", thread_id="t1")

    async def get_many(self, message_ids, *, projection):
        self.calls.append(("get_many", *message_ids))
        if self.failure is not None:
            raise self.failure
        emails = (mail_records.Email(id=name, provider="PROVIDER_A") for name in message_ids)
        return {email.id: email for email in emails if email.id == self.holds}

    async def thread(self, thread_id, *, projection):
        self._called("thread", thread_id)
        message = mail_records.Email(id="m1", provider="PROVIDER_A", thread_id=thread_id)
        return mail_records.Thread(id=thread_id, provider="PROVIDER_A", messages=(message,))

    async def send(self, draft):
        self._called("send", self.holds)
        return mail_records.SentMessage(email_id="new", thread_id="talk")

    async def reply(self, message_id, reply):
        self._called("reply", message_id)
        return mail_records.SentMessage(email_id="new", thread_id="talk")

    async def forward(self, message_id, forward):
        self._called("forward", message_id)
        return mail_records.SentMessage()

    async def trash(self, message_id):
        self._called("trash", message_id)

    async def change(self, message_id, change):
        self._called("change", message_id)
        return mail_records.SentMessage(email_id=message_id, thread_id="talk")

    def _called(self, name, native):
        self.calls.append(name)
        if self.failure is not None:
            raise self.failure
        if native != self.holds:
            raise Missing


def mailbox(*boxes, provider="PROVIDER_A", can_write=(True, True, True)):
    return MergedMailbox(
        [
            (
                ConnectionInfo(
                    id=number,
                    resource_id=1,
                    kind="email",
                    provider=provider,
                    account_email="me@x.example",
                    can_write=can_write[number - 1],
                ),
                box,
            )
            for number, box in enumerate(boxes, start=1)
        ]
    )


async def test_a_message_is_read_from_the_mailbox_that_holds_it():
    first, second = Box("x"), Box("y")

    email = await mailbox(first, second).get("providerA:y", projection=frozenset())

    assert (email.id, email.thread_id) == ("providerA:y", "providerA:t1")
    assert (first.calls, second.calls) == (["get"], ["get"])


async def test_each_of_several_messages_is_read_from_the_mailbox_that_holds_it():
    first, broken, last = Box("x"), Box(failure=Broken()), Box("y")
    ids = ["providerA:x", "providerA:y", "providerA:z", "providerB:x", "nonsense"]

    emails = await mailbox(first, broken, last).get_many(ids, projection=frozenset())

    assert [emails[name].id for name in ids[:2]] == ids[:2]
    assert [type(emails[name]) for name in ids[2:]] == [Broken, Missing, Missing]
    assert first.calls == [("get_many", "x", "y", "z")]
    assert broken.calls == [("get_many", "y", "z")]
    assert last.calls == [("get_many", "y", "z")]


async def test_a_thread_carries_prefixed_ids():
    thread = await mailbox(Box("t9")).thread("providerA:t9", projection=frozenset())

    assert (thread.id, thread.messages[0].id, thread.messages[0].thread_id) == (
        "providerA:t9",
        "providerA:m1",
        "providerA:t9",
    )


@pytest.mark.parametrize(
    "email_id",
    ["x", "providerA:", ":x", "providerB:x", "providera:x", "providerA:" + "x" * 1100, "zoho:x"],
)
async def test_a_foreign_id_makes_no_call(email_id):
    box = Box("x")

    with pytest.raises(Missing):
        await mailbox(box).get(email_id, projection=frozenset())

    assert box.calls == []


async def test_an_id_keeps_everything_after_its_first_colon():
    email = await mailbox(Box("a:b")).get("providerA:a:b", projection=frozenset())

    assert email.id == "providerA:a:b"


async def test_a_failing_mailbox_does_not_hide_the_mailbox_with_the_message():
    email = await mailbox(Box(failure=NeedsReauth()), Box("x")).get(
        "providerA:x", projection=frozenset()
    )

    assert email.id == "providerA:x"


async def test_a_failure_is_raised_when_no_mailbox_has_the_message():
    with pytest.raises(Throttled):
        await mailbox(Box("y"), Box(failure=Throttled(3)), Box("z")).get(
            "providerA:x", projection=frozenset()
        )


async def test_a_message_is_sent_from_the_named_connection():
    first, second = Box(), Box()
    draft = Draft(to=(BOB,), attempt=SendAttempt(message_id="d@gw.example"))

    sent = await mailbox(first, second).send(2, draft)

    assert (first.calls, second.calls) == ([], ["send"])
    assert (sent.email_id, sent.thread_id) == ("providerA:new", "providerA:talk")
    with pytest.raises(Missing):
        await mailbox(first, second).send(3, draft)


async def test_every_send_has_one_deadline_for_all_its_calls():
    class Timed(Box):
        def _called(self, name, native):
            self.ends = deadline.get()
            super()._called(name, native)

    box = Timed("x")
    for write in (
        mailbox(box).send(1, Draft(to=(BOB,), attempt=SendAttempt(message_id="d"))),
        mailbox(box).reply("providerA:x", REPLY),
        mailbox(box).forward("providerA:x", FORWARD),
    ):
        box.ends = None
        await write
        assert box.ends is not None

    assert box.calls == ["send", "reply", "forward"]


async def test_a_retry_uses_the_connection_of_its_draft_alone():
    first, second = Box("x"), Box("x")
    both = mailbox(first, second)
    attempt = SendAttempt(message_id="d", draft_id="2:r1")

    await both.reply("providerA:x", Reply(body="", attempt=attempt))
    await both.forward("providerA:x", Forward(to=(BOB,), attempt=attempt))
    await both.send(2, Draft(to=(BOB,), attempt=attempt))
    with pytest.raises(OutcomeUnknown):
        await both.send(1, Draft(to=(BOB,), attempt=attempt))

    assert (first.calls, second.calls) == ([], ["reply", "forward", "send"])


async def test_a_retry_is_of_unknown_outcome_without_the_connection_of_its_draft():
    box = Box("x")
    attempt = SendAttempt(message_id="d", draft_id="7:r1")

    with pytest.raises(OutcomeUnknown):
        await mailbox(box).reply("providerA:x", Reply(body="", attempt=attempt))

    assert box.calls == []


async def test_an_attempt_is_bound_to_its_connection():
    stored = []

    async def store(draft_id):
        stored.append(draft_id)

    class Keeping(Box):
        async def send(self, draft):
            self.attempt = draft.attempt
            await draft.attempt.store("r1")
            await draft.attempt.store(WITHDRAWN)
            await draft.attempt.store(None)
            return await super().send(draft)

    box = Keeping()
    await mailbox(box).send(
        1, Draft(to=(BOB,), attempt=SendAttempt(message_id="d", store_draft=store))
    )
    again = SendAttempt(message_id="d@gw.example", draft_id=stored[1], store_draft=store)
    await mailbox(retried := Keeping()).send(1, Draft(to=(BOB,), attempt=again))

    assert stored[:3] == ["1:r1", "1:", None]
    assert (box.attempt.draft_id, box.attempt.message_id) == (None, "d@x.example")
    assert (retried.attempt.draft_id, retried.attempt.message_id) == (WITHDRAWN, "d@gw.example")


async def test_a_sent_message_of_provider_b_has_no_ids():
    sent = await mailbox(Box("x"), provider="PROVIDER_B").forward("providerB:x", FORWARD)

    assert sent == mail_records.SentMessage()


@pytest.mark.parametrize(
    "failure", [Unreachable(sent=True), OutcomeUnknown(), Broken()], ids=["cut", "unknown", "5xx"]
)
async def test_no_other_mailbox_is_tried_after_an_uncertain_write(failure):
    second = Box("x")

    with pytest.raises(type(failure)):
        await mailbox(Box(failure=failure), second).reply("providerA:x", REPLY)

    assert second.calls == []


async def test_the_next_mailbox_is_tried_after_a_write_that_did_not_happen():
    for failure in (Missing(), NeedsReauth(), Throttled(1), Unreachable(sent=False)):
        second = Box("x")

        await mailbox(Box(failure=failure), second).trash("providerA:x")

        assert second.calls == ["trash"]


async def test_a_read_only_mailbox_is_not_written_to():
    box = Box("x")
    only = mailbox(box, can_write=(False,))

    for write in (
        only.reply("providerA:x", REPLY),
        only.forward("providerA:x", FORWARD),
        only.trash("providerA:x"),
        only.change("providerA:x", MailChange(read=True)),
    ):
        with pytest.raises(ReadOnlyMailbox):
            await write
    with pytest.raises(Missing):
        await only.reply("providerA:elsewhere", REPLY)

    assert set(box.calls) == {"get"}


async def test_the_writable_one_of_two_connections_to_a_mailbox_writes():
    reader, writer = Box("x"), Box("x")

    done = await mailbox(reader, writer, can_write=(False, True)).change(
        "providerA:x", MailChange(read=True)
    )

    assert (reader.calls, writer.calls, done.email_id) == ([], ["change"], "providerA:x")
