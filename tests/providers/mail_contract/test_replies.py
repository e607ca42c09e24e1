"""Every mail connector: recipients and contents of replies, which are sent once."""

import asyncio

import pytest
from mail_cases import BOB, RefusedRecipients, Row, answer, refuse, reply, sent
from mail_upstreams import UPSTREAMS

from providers.ports.mail import Forward, NoReplyRecipient, SendAttempt
from sandbox.mail.store import Account as SandboxAccount


def original(account, **changes):
    return account.add(
        "Plan",
        **(
            {
                "to": f"Me <{account.address.upper()}>, Bob Brown <bob@south.example>",
                "cc": f"carl@east.example, {account.address}",
                "body": "Shall we?",
                "message_id": "<plan@north.example>",
                "headers": [("References", "<root@north.example>")],
            }
            | changes
        ),
    )


async def test_a_reply_goes_to_the_author_within_the_thread(account):
    name = original(account)

    await account.port.reply(name, reply())

    mail, email = await sent(account)
    assert [recipient.email for recipient in email.to] == ["ann@north.example"]
    assert email.cc == ()
    assert email.subject.lower() == "re: plan"
    assert email.thread_id == account.stored(folder="inbox")[0].thread_id
    assert b"In-Reply-To: <plan@north.example>" in mail.raw
    assert mail.raw.index(b"<root@north.example>") < mail.raw.rindex(b"<plan@north.example>")
    assert email.body.index("Fine.") < email.body.index("Shall we?")


async def test_a_reply_to_all_excludes_the_sending_account(account):
    name = original(account)

    await account.port.reply(name, reply(reply_all=True))

    _, email = await sent(account)
    assert [recipient.email for recipient in email.to] == ["ann@north.example", "bob@south.example"]
    assert [recipient.email for recipient in email.cc] == ["carl@east.example"]


async def test_a_reply_to_all_excludes_every_address_of_the_account(account):
    mails = account.sandbox.state.mails
    names = ("sales@own.example", "me@tenant.onmicrosoft.example")
    sign_in_name = names[1] if account.provider == "PROVIDER_B" else ""
    mails.set_account(account.mailbox, SandboxAccount(account.address, "Me", sign_in_name, names))
    to = f"{names[0].upper()}, bob@south.example"
    name = original(account, to=to, cc=f"{names[1]}, carl@east.example")

    await account.port.reply(name, reply(reply_all=True))

    _, email = await sent(account)
    assert [recipient.email for recipient in email.to] == ["ann@north.example", "bob@south.example"]
    assert [recipient.email for recipient in email.cc] == ["carl@east.example"]


async def test_the_own_addresses_are_read_once(account):
    for number in range(2):
        name = original(account, message_id=f"<plan{number}@north.example>")
        attempt = SendAttempt(message_id=f"re.{number}@gw.example")
        await account.port.reply(name, reply(reply_all=True, attempt=attempt))

    below = {"PROVIDER_A": "/settings/sendAs", "PROVIDER_B": "/v1.0/me"}[account.provider]
    if account.info.shared_on is not None:
        below = f"/v1.0/users/{account.address}"
    calls = account.sandbox.upstreams[UPSTREAMS[account.provider]].calls
    assert [call["path"].partition("?")[0].endswith(below) for call in calls].count(True) == 1


async def test_a_reply_to_a_message_from_an_alias_goes_to_its_recipients(account):
    mails = account.sandbox.state.mails
    alias = SandboxAccount(account.address, "Me", "", ("sales@own.example",))
    mails.set_account(account.mailbox, alias)
    name = original(account, author="sales@own.example")

    await account.port.reply(name, reply())

    _, email = await sent(account)
    assert [recipient.email for recipient in email.to] == ["bob@south.example"]


async def test_a_reply_goes_to_the_reply_to_address(account):
    name = original(account, headers=[("Reply-To", "Desk <desk@north.example>")])

    await account.port.reply(name, reply())

    _, email = await sent(account)
    assert [recipient.email for recipient in email.to] == ["desk@north.example"]


async def test_a_reply_to_an_own_message_goes_to_its_recipients(account):
    name = original(account, author=account.address)

    await account.port.reply(name, reply())

    _, email = await sent(account)
    assert [recipient.email for recipient in email.to] == ["bob@south.example"]


async def test_a_reply_without_recipients_is_refused(account):
    name = original(account, author=account.address, to=account.address, cc=None)

    for everyone in (False, True):
        with pytest.raises(NoReplyRecipient):
            await account.port.reply(name, reply(reply_all=everyone))

    assert account.stored(folder="sent") == account.stored(folder="drafts") == []


async def test_a_reply_need_not_quote(account):
    name = original(account)

    await account.port.reply(name, reply(quote=False))

    _, email = await sent(account)
    assert "Fine." in email.body
    assert "Shall we?" not in email.body


async def test_a_reply_is_sent_once(account):
    name = original(account)

    row = Row()
    await account.port.reply(name, reply(attempt=row.attempt()))
    await account.port.reply(name, reply(attempt=row.attempt(maybe_sent=True)))
    await account.port.forward(
        name, Forward(to=(BOB,), body="Look:", attempt=row.attempt(maybe_sent=True))
    )

    assert len(account.stored(folder="sent")) == 1
    assert account.stored(folder="drafts") == []


@pytest.mark.parametrize("action", ["reply", "forward"])
async def test_a_reply_whose_draft_got_no_response_is_sent_once(account, action):
    name = original(account)
    account.fault(kind="lostAnswer", count=1, match="", method="POST")

    await answer(account, name, action)

    _, email = await sent(account)
    assert (email.body.count("Fine."), email.body.count("Shall we?")) == (1, 1)
    assert account.stored(folder="drafts") == []


async def test_the_derived_recipients_are_checked_before_anything_is_written(account):
    name = original(account, headers=[("Reply-To", "desk@north.example")])

    with pytest.raises(RefusedRecipients) as refusal:
        await account.port.reply(name, reply(reply_all=True, check_recipients=refuse))

    derived = ["desk@north.example", "bob@south.example", "carl@east.example"]
    assert refusal.value.args == (derived,)
    assert {call["method"] for call in account.calls} == {"GET"}
    assert account.stored(folder="drafts") == []


async def test_a_stored_draft_is_not_sent_when_its_recipients_are_refused_by_now(account):
    name = original(account)
    row = Row()

    async def commit_and_die(draft_id):
        await row.store(draft_id)
        raise asyncio.CancelledError

    first = SendAttempt(message_id="one.1@gw.example", store_draft=commit_and_die)
    with pytest.raises(asyncio.CancelledError):
        await account.port.reply(name, reply(attempt=first, check_recipients=lambda people: None))
    account.forget_calls()

    retry = row.attempt(maybe_sent=True)
    with pytest.raises(RefusedRecipients):
        await account.port.reply(name, reply(attempt=retry, check_recipients=refuse))

    assert {call["method"] for call in account.calls} == {"GET"}
    assert account.stored(folder="sent") == []
    assert len(account.stored(folder="drafts")) == 1
