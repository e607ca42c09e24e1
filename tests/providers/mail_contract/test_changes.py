"""Every mail connector: trash, read state and labels."""

import pytest

from providers.failures import Impossible
from providers.ports.mail import MailChange


async def test_trashing_happens_once(account):
    name = account.add("Hello")

    await account.port.trash(name)

    assert [mail.folder for mail in account.stored()] == ["trash"]
    assert (await account.port.get(name, projection={"subject"})).subject == "Hello"
    with pytest.raises(Impossible, match="in the trash"):
        await account.port.trash(name)
    with pytest.raises(Impossible, match="in the trash"):
        await account.port.change(name, MailChange(read=True))
    assert await account.subjects() == []


async def test_read_state_and_labels_change(account):
    name = account.add("Hello", labels=("Client Work", "Old"))

    changed = await account.port.change(
        name, MailChange(read=True, add_labels=("New One",), remove_labels=("OLD", "nowhere"))
    )

    mail = account.stored()[0]
    assert mail.is_read is True
    assert set(mail.labels) == {"Client Work", "New One"}
    assert (changed.email_id, changed.thread_id) == (name, mail.thread_id)
    await account.port.change(name, MailChange(read=False))
    assert account.stored()[0].is_read is False


async def test_a_refused_change_says_why(account):
    name = account.add("Hello")
    for fault in ("403", "500", "reset", "malformed"):
        account.fault(kind=fault)

        with pytest.raises(Impossible, match="could not be changed"):
            await account.port.change(name, MailChange(read=True))
        account.upstream.faults.clear()
    assert account.stored()[0].is_read is False
