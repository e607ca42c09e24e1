"""Paging over many mailboxes, with ports that obey the contract and misbehave within it."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers import ids
from providers.failures import Broken, NeedsReauth, ProviderFailure, Throttled, TimedOut
from providers.fanout import AllFailed
from providers.mail.merged_mailbox import MergedMailbox
from providers.mail.scanning import end_of_millisecond
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import MailPosition, MailQuery, MailSlice
from providers.records import mail as mail_records
from providers.records.base import from_epoch_ms, to_epoch_ms

WANTED = frozenset({"subject", "received_at"})


def info(number, provider="PROVIDER_A", **changes):
    return ConnectionInfo(
        id=number,
        resource_id=1,
        kind="email",
        provider=provider,
        account_email=f"me{number}@example.com",
        **changes,
    )


def mail(received_ms, name, provider="PROVIDER_A"):
    return mail_records.Email(
        id=name, provider=provider, received_at=from_epoch_ms(received_ms), subject=name
    )


@dataclass
class Shelf:
    """
    A port over (received time, id) pairs.

    Attributes:
        scans: How many messages it looks at per call before it gives up; 0 for all.
        keeps: Which ids pass.
        fails: What to raise on the n-th call.
    """

    kept: list[tuple[int, str]]
    scans: int = 0
    keeps: frozenset[str] | None = None
    fails: dict[int, ProviderFailure] = field(default_factory=dict)
    calls: int = 0

    async def search(self, query, *, after, projection):
        self.calls += 1
        if self.calls in self.fails:
            raise self.fails[self.calls]
        order = sorted(MailPosition(*entry).rank for entry in self.kept)
        rest = [rank for rank in order if after is None or rank > after.rank]
        seen = rest[: self.scans] if self.scans else rest
        passing = [rank for rank in seen if self.keeps is None or rank[1] in self.keeps]
        chosen = passing[: query.limit]
        whole = len(passing) <= query.limit
        last = MailPosition(-seen[-1][0], seen[-1][1]) if seen else after
        done = whole and len(seen) == len(rest)
        return MailSlice(
            emails=tuple(mail(-ms, name) for ms, name in chosen),
            scanned_to=last if whole and not done else None,
            exhausted=done,
            total=len(passing),
            total_exact=done,
        )


async def read_to_the_end(mailbox, limit, *, between=lambda: None, patience=400):
    """Read every page; a page on which all fail is requested again, as a client would."""
    pages, positions = [], {}
    for _ in range(patience):
        try:
            page = await mailbox.search(
                MailQuery(limit=limit), positions=positions, projection=WANTED
            )
        except (AllFailed, Throttled, TimedOut):
            continue
        pages.append(page)
        positions = page.positions
        between()
        if not page.has_more:
            return pages
    raise AssertionError("the pages do not end")


ENTRIES = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 40)), max_size=30, unique_by=lambda entry: entry[1]
)
SHELVES = st.lists(
    st.tuples(ENTRIES, st.integers(0, 5), st.sets(st.integers(1, 12), max_size=6)),
    min_size=1,
    max_size=4,
)


@given(SHELVES, st.sampled_from([1, 2, 7, 20, 50]), st.booleans())
async def test_pages_neither_lose_nor_repeat_messages_while_mail_arrives_and_mailboxes_fail(
    made, limit, arriving
):
    shelves = [
        Shelf(
            [(ms, f"{place}-{name}") for ms, name in entries],
            scans=scans,
            fails=dict.fromkeys(fails, Broken()),
        )
        for place, (entries, scans, fails) in enumerate(made)
    ]
    expected = sorted(f"providerA:{name}" for shelf in shelves for _, name in shelf.kept)
    arrived = iter(range(10_000))

    def arrive():
        if arriving:
            shelves[0].kept.append((1_000_000, f"late-{next(arrived)}"))

    mailbox = MergedMailbox([(info(place), shelf) for place, shelf in enumerate(shelves)])
    pages = await read_to_the_end(mailbox, limit, between=arrive)

    ids_read = [email.id for page in pages for email in page.emails]
    # A mailbox that failed on every page before may show what arrived meanwhile.
    early = [email_id for email_id in ids_read if "late" not in email_id]
    assert sorted(early) == expected
    assert len(set(ids_read)) == len(ids_read)
    assert all(len(page.emails) <= limit for page in pages)


# Few times and few names, so that mailboxes share both.
ALIKE = st.lists(
    st.tuples(
        st.sampled_from(["PROVIDER_A", "PROVIDER_B"]),
        st.sets(st.tuples(st.integers(0, 2), st.sampled_from("abcd"))),
        st.integers(0, 5),
        st.sets(st.integers(1, 12), max_size=6),
    ),
    min_size=1,
    max_size=5,
)


@given(ALIKE, st.sampled_from([1, 2, 3, 7]))
async def test_mailboxes_with_equal_times_and_ids_neither_lose_nor_repeat_messages(made, limit):
    mailboxes = [
        (
            info(place, provider),
            Shelf([*entries], scans=scans, fails=dict.fromkeys(fails, Broken())),
        )
        for place, (provider, entries, scans, fails) in enumerate(made)
    ]

    pages = await read_to_the_end(MergedMailbox(mailboxes), limit)

    expected = [
        (ids.join_mail_id(account.provider, name), ms)
        for account, shelf in mailboxes
        for ms, name in shelf.kept
    ]
    emails = [(email.id, to_epoch_ms(email.received_at)) for page in pages for email in page.emails]
    assert sorted(emails) == sorted(expected)


async def test_positions_are_the_end_of_the_page():
    mailboxes = [
        (info(1), Shelf([(5, "a"), (1, "b")])),
        (info(2, "PROVIDER_B"), Shelf([(5, "a"), (1, "b")])),
        (info(3), Shelf([(5, "m"), (5, "n")])),
        (info(4), Shelf([(5, "m")])),
        (info(5), Shelf([(9, "z")], fails={1: Broken()})),
    ]

    page = await MergedMailbox(mailboxes).search(
        MailQuery(limit=2), positions={}, projection=WANTED
    )

    assert [email.id for email in page.emails] == ["providerA:a", "providerA:m"]
    assert {connection: position.after for connection, position in page.positions.items()} == {
        1: MailPosition(5, "m"),
        2: MailPosition(5, ""),  # all of this time is still to come
        3: MailPosition(5, "m"),
        4: None,  # the mail of the same time and id is still to come
        5: None,
    }


async def test_a_mailbox_of_the_first_provider_stays_behind_the_others():
    mailboxes = [
        (info(1), Shelf([(5, "a"), (1, "b")])),
        (info(2, "PROVIDER_B"), Shelf([(5, "a"), (1, "b")])),
    ]

    page = await MergedMailbox(mailboxes).search(
        MailQuery(limit=2), positions={}, projection=WANTED
    )

    assert page.positions[1].after == end_of_millisecond(5)
    assert page.positions[2].after == MailPosition(5, "a")


@given(SHELVES, st.sampled_from([1, 3, 7, 20]))
async def test_pages_are_in_order_over_all_mailboxes_when_none_fails(made, limit):
    shelves = [
        Shelf([(ms, f"{place}-{name}") for ms, name in entries], scans=scans)
        for place, (entries, scans, _) in enumerate(made)
    ]

    mailbox = MergedMailbox([(info(place), shelf) for place, shelf in enumerate(shelves)])
    pages = await read_to_the_end(mailbox, limit)

    ranks = [(-to_epoch_ms(email.received_at), email.id) for page in pages for email in page.emails]
    assert ranks == sorted(ranks)
    returned = 0
    for page in pages:
        returned += len(page.emails)
        assert page.total >= returned
    assert (pages[-1].total, pages[-1].total_exact) == (len(ranks), True)


async def test_a_partly_read_mailbox_holds_back_later_messages():
    slow = Shelf([(9, "a"), (8, "b"), (3, "c")], scans=2, keeps=frozenset("c"))
    other = Shelf([(9, "x"), (5, "y")])
    mailbox = MergedMailbox([(info(1), slow), (info(2), other)])

    pages = await read_to_the_end(mailbox, 10)

    assert [[email.subject for email in page.emails] for page in pages] == [["x"], ["y", "c"]]


async def test_a_failed_mailbox_is_reported_and_keeps_its_position():
    broken = Shelf([(1, "a")], fails={1: NeedsReauth()})
    mailbox = MergedMailbox([(info(1), broken), (info(2), Shelf([(2, "b")]))])

    page = await mailbox.search(MailQuery(), positions={}, projection=WANTED)

    assert [email.id for email in page.emails] == ["providerA:b"]
    assert [(warning.connection.id, type(warning.failure)) for warning in page.warnings] == [
        (1, NeedsReauth)
    ]
    assert page.positions[1].after is None
    assert (page.has_more, page.total, page.total_exact) == (True, 1, False)


@pytest.mark.parametrize(
    ("failures", "raised"),
    [
        ([Throttled(3), Throttled(8)], Throttled),
        ([TimedOut(), TimedOut()], TimedOut),
        ([Throttled(3), TimedOut()], AllFailed),
        ([NeedsReauth(), Broken()], AllFailed),
    ],
    ids=["all throttled", "all late", "mixed", "broken"],
)
async def test_the_failure_of_all_mailboxes_combines_theirs(failures, raised):
    mailbox = MergedMailbox(
        [(info(place), Shelf([], fails={1: failure})) for place, failure in enumerate(failures)]
    )

    with pytest.raises(raised) as caught:
        await mailbox.search(MailQuery(), positions={}, projection=WANTED)

    assert type(caught.value) is raised
    if raised is Throttled:
        assert caught.value.retry_after == 8
    if raised is AllFailed:
        assert [warning.connection.id for warning in caught.value.warnings] == [0, 1]


async def test_a_mailbox_that_does_not_answer_in_time_fails_alone():
    import asyncio

    class Silent(Shelf):
        async def search(self, query, *, after, projection):
            await asyncio.sleep(60)

    mailbox = MergedMailbox(
        [(info(1), Silent([])), (info(2), Shelf([(2, "b")]))], timeout_seconds=0.01
    )

    page = await mailbox.search(MailQuery(), positions={}, projection=WANTED)

    assert [type(warning.failure) for warning in page.warnings] == [TimedOut]
    assert [email.id for email in page.emails] == ["providerA:b"]


async def test_an_account_that_is_connected_twice_is_searched_once():
    shelves = [Shelf([(1, "a")]), Shelf([(1, "a")])]
    same = [
        ConnectionInfo(
            id=number,
            resource_id=number,
            kind="email",
            provider="PROVIDER_A",
            account_email="Me@example.com" if number == 1 else "me@example.com",
        )
        for number in (1, 2)
    ]

    page = await MergedMailbox(list(zip(same, shelves, strict=True))).search(
        MailQuery(), positions={}, projection=WANTED
    )

    assert [email.id for email in page.emails] == ["providerA:a"]
    assert [shelf.calls for shelf in shelves] == [1, 0]


async def test_the_received_time_is_returned_only_when_it_is_wanted():
    mailbox = MergedMailbox([(info(1), Shelf([(1, "a")]))])

    page = await mailbox.search(MailQuery(), positions={}, projection={"subject"})

    assert page.emails[0].received_at is None


async def test_exhausted_mailboxes_are_not_called():
    shelf = Shelf([(1, "a")])
    mailbox = MergedMailbox([(info(1), shelf)])
    first = await mailbox.search(MailQuery(), positions={}, projection=WANTED)

    page = await mailbox.search(MailQuery(), positions=first.positions, projection=WANTED)

    assert (page.emails, page.has_more, page.total, shelf.calls) == ((), False, 1, 1)


async def test_an_unexpected_exception_of_a_port_is_raised():
    class Odd(Shelf):
        async def search(self, query, *, after, projection):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await MergedMailbox([(info(1), Odd([])), (info(2), Shelf([]))]).search(
            MailQuery(), positions={}, projection=WANTED
        )
