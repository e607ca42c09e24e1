"""
A thread of thousands of messages: a list and a reply cost what they cost in a short thread.

`THREAD_MESSAGES` is its length. Provider A returns a thread in one response; a conversation of
provider B is read page by page, up to about 1,000 messages.
"""

import os

import pytest
from mail_upstreams import LISTED, NOON, opened, raw

from providers.connectors.provider_b.outlook_mail.mailbox import MAX_IN_THREAD
from providers.ports.mail import MailQuery, Reply, SendAttempt
from sandbox.mail.store import NewMail

pytestmark = pytest.mark.slow

SHORT, LONG = 60, int(os.environ.get("THREAD_MESSAGES", "1100"))
READ = {"PROVIDER_A": LONG, "PROVIDER_B": min(LONG, MAX_IN_THREAD)}
PAGE = 50  # messages of a conversation, at least, but for a rest


async def measure(provider, length):
    """Return the calls of a list, of a read and of a reply, and the messages that were read."""
    async with opened(provider) as account:
        start = int(NOON.timestamp() * 1000)
        mails = account.sandbox.state.mails.add_many(
            account.mailbox,
            [
                NewMail(raw=raw("Plan"), received_ms=start + number * 1000, thread_id="7" * 16)
                for number in range(length)
            ],
        )
        listed = await account.port.search(MailQuery(limit=20), after=None, projection=LISTED)
        counts = []

        async def count(call):
            account.forget_calls()
            result = await call
            counts.append(len(account.calls))
            return result

        page = await count(account.port.search(MailQuery(limit=20), after=None, projection=LISTED))
        assert [email.id for email in page.emails] == [email.id for email in listed.emails]
        thread = await count(account.port.thread(listed.emails[0].thread_id, projection=LISTED))
        attempt = SendAttempt(message_id="reply@gw.example")
        await count(account.port.reply(mails[0].immutable_id, Reply(body="Yes.", attempt=attempt)))
        assert len(account.stored(folder="sent")) == 1
        return counts, len(thread.messages)


@pytest.mark.parametrize("provider", READ)
async def test_a_long_thread_costs_what_a_short_one_costs(provider):
    (lists, _, replies), _ = await measure(provider, SHORT)
    (long_lists, reads, long_replies), messages = await measure(provider, LONG)

    assert (long_lists, long_replies) == (lists, replies)
    assert READ[provider] <= messages <= READ[provider] + PAGE
    assert reads <= 2 + READ[provider] // PAGE
