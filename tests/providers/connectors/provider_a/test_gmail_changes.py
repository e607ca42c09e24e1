"""The changes of a Gmail account: its requests, what each record means, and what dies."""

import pytest

from providers.connectors.provider_a.gmail.changes import GmailChanges
from providers.failures import Broken, Refused, Throttled
from providers.ports.changes import MAX_POSITION, Change, Kind, PositionExpired
from providers.ports.mail import MailChange
from sandbox.provider_a.gmail import labels

HISTORY = "/gmail/v1/users/me/history"
FIELDS = (
    "history(messagesAdded(message(id,labelIds)),messagesDeleted(message(id,labelIds)),"
    "labelsAdded(message(id,labelIds),labelIds),labelsRemoved(message(id,labelIds),labelIds)),"
    "nextPageToken,historyId"
)


def created(name):
    return Change(id=name, kind=Kind.CREATED)


def gone(name):
    return Change(id=name, kind=Kind.GONE)


def changed(name, *attributes):
    return Change(id=name, kind=Kind.CHANGED, attributes=frozenset(attributes))


def relabel(account, name, *, add=(), remove=()):
    mails = account.sandbox.state.mails
    labels.change(mails, mails.find("provider-a", name), add=add, remove=remove)


async def told(account, position, limit=500):
    answer = await account.port.changes.since(position, limit=limit)
    assert not answer.more
    return list(answer.changes)


async def test_the_position_of_now_takes_one_call(account_a):
    account_a.add("Plan")

    position = await account_a.port.changes.now()

    assert position == str(account_a.sandbox.state.mails.last_change())
    assert [(call["path"], call["query"]) for call in account_a.calls] == [
        ("/gmail/v1/users/me/profile", {"fields": ["historyId"]})
    ]
    assert account_a.port.changes.undivided == frozenset()


async def test_a_quiet_account_takes_one_call_of_two_units(account_a):
    account_a.add("Plan")
    position = await account_a.port.changes.now()
    account_a.forget_calls()

    answer = await account_a.port.changes.since(position, limit=30)

    assert (list(answer.changes), answer.position, answer.more) == ([], position, False)
    assert [(call["path"], call["query"], call["units"]) for call in account_a.calls] == [
        (HISTORY, {"startHistoryId": [position], "maxResults": ["30"], "fields": [FIELDS]}, 2)
    ]


async def test_each_change_has_its_kind_and_its_attributes(account_a):
    names = {at: account_a.add(f"Mail {at}", labels=("Home",)) for at in range(12)}
    spam = account_a.add("Win", folder="spam")
    home = labels.user_labels(account_a.sandbox.state.mails).ids["Home"]
    position = await account_a.port.changes.now()
    relabel(account_a, names[0], remove=("UNREAD",))
    relabel(account_a, names[1], add=("STARRED",))
    relabel(account_a, names[2], remove=("INBOX",))
    relabel(account_a, names[3], remove=(home, "UNREAD"))
    relabel(account_a, names[4], add=("TRASH",))
    relabel(account_a, names[5], add=("SPAM",))
    account_a.sandbox.state.mails.delete("provider-a", names[6])
    relabel(account_a, spam, remove=("SPAM",), add=("INBOX",))
    new = account_a.add("New")
    draft = account_a.add("Draft", folder="drafts")

    changes = await told(account_a, position)

    assert sorted(changes, key=lambda change: change.id) == sorted(
        [
            changed(names[0], "is_read"),
            changed(names[1], "labels"),
            changed(names[2], "labels"),
            changed(names[3], "is_read", "labels"),
            gone(names[4]),
            gone(names[5]),
            gone(names[6]),
            created(spam),
            created(new),
        ],
        key=lambda change: change.id,
    )
    assert draft not in {change.id for change in changes}


async def test_what_ends_as_it_began_is_told_where_it_was_listed(account_a):
    """Somebody may have read it in between."""
    read = account_a.add("Read")
    trashed = account_a.add("Trashed")
    outside = account_a.add("Outside", folder="trash")
    position = await account_a.port.changes.now()
    relabel(account_a, read, remove=("UNREAD",))
    relabel(account_a, read, add=("UNREAD",))
    relabel(account_a, trashed, add=("TRASH",))
    relabel(account_a, trashed, remove=("TRASH",), add=("INBOX",))
    relabel(account_a, outside, add=("STARRED",))
    short = account_a.add("Short")
    account_a.sandbox.state.mails.delete("provider-a", short)

    assert await told(account_a, position) == [
        Change(id=read, kind=Kind.CHANGED, attributes=frozenset({"is_read"})),
        Change(id=trashed, kind=Kind.CREATED),
        Change(id=short, kind=Kind.GONE),
    ]


async def test_an_edited_draft_is_told_only_when_it_is_sent(account_a):
    mails = account_a.sandbox.state.mails
    draft = account_a.add("Draft", folder="drafts")
    position = await account_a.port.changes.now()
    edited = mails.update("provider-a", draft, raw=b"Subject: Again\r\n\r\n", new_id=True)
    assert await told(account_a, position) == []

    sent = mails.add("provider-a", edited.raw, folder="sent", is_read=True)
    mails.delete("provider-a", edited.id)

    assert await told(account_a, position) == [created(sent.id)]


async def test_slices_are_pages_and_the_next_begins_where_one_ends(account_a):
    position = await account_a.port.changes.now()
    names = [account_a.add(f"Mail {at}") for at in range(5)]
    account_a.forget_calls()

    read, more = [], True
    while more:
        answer = await account_a.port.changes.since(position, limit=2)
        read += [change.id for change in answer.changes]
        position, more = answer.position, answer.more
        assert len(position) <= MAX_POSITION

    assert read == names
    assert position == str(account_a.sandbox.state.mails.last_change())
    assert len([call for call in account_a.calls if call["path"] == HISTORY]) == 3


async def test_a_page_token_that_has_died_begins_the_page_of_its_history_id(account_a):
    position = await account_a.port.changes.now()
    names = [account_a.add(f"Mail {at}") for at in range(3)]
    account_a.forget_calls()

    answer = await account_a.port.changes.since(f"{position}/bm90aGluZw", limit=500)

    assert [change.id for change in answer.changes] == names
    assert [
        call["query"].get("pageToken") for call in account_a.calls if call["path"] == HISTORY
    ] == [["bm90aGluZw"], None]


async def test_labels_that_no_record_shows_are_read_in_one_batch(account_a, monkeypatch):
    names = [account_a.add(f"Mail {at}") for at in range(4)]
    trashed = account_a.add("Trashed", folder="trash")
    position = await account_a.port.changes.now()
    for name in (*names, trashed):
        relabel(account_a, name, add=("STARRED",))
    account_a.sandbox.state.mails.delete("provider-a", names[0])
    monkeypatch.setattr(
        "sandbox.provider_a.gmail.history.HistoryEndpoint._shown_labels", lambda *_: {}
    )
    account_a.forget_calls()

    changes = await told(account_a, position)

    assert changes == [gone(names[0]), *(changed(name, "labels") for name in names[1:])]
    outer = [call["path"] for call in account_a.upstream.calls if call["batch"] is None]
    assert outer == [HISTORY, "/batch/gmail/v1"]
    assert {call["query"]["fields"][0] for call in account_a.calls if call["batch"]} == {
        "id,labelIds"
    }


@pytest.mark.parametrize("position", ["", "x", "1/", "-1", "1/a b", "9" * 30])
async def test_what_is_no_position_is_expired_without_a_call(account_a, position):
    with pytest.raises(PositionExpired):
        await account_a.port.changes.since(position, limit=5)
    assert account_a.calls == []


async def test_a_history_that_is_not_kept_expires_positions(account_a):
    account_a.add("Plan")
    position = await account_a.port.changes.now()
    name = account_a.add("Next")
    mails = account_a.sandbox.state.mails
    mails.history.forget("provider-a", mails.last_change())

    for old in (position, str(mails.last_change() + 1)):  # too old; of a mailbox made anew
        with pytest.raises(PositionExpired):
            await account_a.port.changes.since(old, limit=5)
    relabel(account_a, name, remove=("UNREAD",))
    assert await told(account_a, str(mails.last_change() - 1)) == [changed(name, "is_read")]


@pytest.mark.parametrize(
    ("kind", "failure"), [("429", Throttled), ("400", Refused), ("malformed", Broken)]
)
async def test_failures_are_those_of_every_call(account_a, kind, failure):
    position = await account_a.port.changes.now()
    account_a.fault(kind=kind, match="/history", retryAfter=9_000)

    with pytest.raises(failure):
        await account_a.port.changes.since(position, limit=5)


async def test_a_change_by_the_gateway_is_told(account_a):
    name = account_a.add("Plan")
    position = await account_a.port.changes.now()
    await account_a.port.change(name, MailChange(read=True, add_labels=("Work",)))
    assert await told(account_a, position) == [changed(name, "is_read", "labels")]

    await account_a.port.trash(name)
    assert await told(account_a, position) == [gone(name)]
    assert isinstance(account_a.port.changes, GmailChanges)
