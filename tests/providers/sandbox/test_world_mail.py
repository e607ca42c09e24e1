"""The demo world's mailboxes: what decisions 16 and the sandbox's card promise is in them."""

from datetime import UTC, date, datetime
from email.utils import parseaddr

import pytest

from providers.sandbox.mailnames import MAILBOXES
from providers.sandbox.mailstore import MailStore
from providers.sandbox.mime import parse
from providers.sandbox.store import Store
from providers.sandbox.world import mail as world
from providers.sandbox.world.deliveries import desks

NOW = datetime(2026, 11, 20, 13, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def seeded():
    store = Store(":memory:")
    mails = MailStore(store)
    return store, mails, world.seed(store, mails, NOW)


@pytest.fixture(scope="module")
def trees(seeded):
    _, mails, _ = seeded
    return {box: [(mail, parse(mail.raw)) for mail in mails.all(box)] for box in MAILBOXES}


def test_the_same_day_gives_the_same_bytes():
    first, second = (
        [mail for desk in desks(date(2026, 3, 1)) for mail in world.plan(desk)] for _ in range(2)
    )

    assert first == second


def test_another_day_moves_the_world_along():
    def newest(day):
        return max(mail.received_ms for desk in desks(day) for mail in world.plan(desk))

    assert newest(date(2026, 11, 20)) - newest(date(2026, 11, 10)) == pytest.approx(
        10 * 86_400_000, abs=2 * 86_400_000
    )


def test_a_second_start_writes_nothing(seeded):
    store, mails, facts = seeded
    writes = store.writes
    again = world.seed(store, mails, datetime(2027, 1, 1, tzinfo=UTC))

    assert facts.created is True
    assert again.created is False
    assert again.day == date(2026, 11, 20)
    assert again.mails == facts.mails
    assert store.writes == writes


def test_nothing_lies_in_the_future(seeded):
    _, mails, _ = seeded
    midnight = int(datetime(2026, 11, 20, tzinfo=UTC).timestamp() * 1000)

    assert all(mail.received_ms < midnight for box in MAILBOXES for mail in mails.all(box))


@pytest.mark.parametrize("box", MAILBOXES)
def test_threads_keep_together(seeded, box):
    _, mails, _ = seeded
    sizes = sorted((len(found) for found in mails.threads(box).values()), reverse=True)

    assert 20 < sizes[0] <= 30
    assert sum(size > 2 for size in sizes) > 8


@pytest.mark.parametrize("box", MAILBOXES)
def test_the_account_is_written_to_and_writes(trees, seeded, box):
    _, mails, _ = seeded
    me = mails.account(box).email
    to_me = [tree for _, tree in trees[box] if me in {one.address for one in tree.addresses("to")}]
    from_me = [mail for mail, tree in trees[box] if parseaddr(tree.header("from") or "")[1] == me]

    assert len(to_me) > 30
    assert len(from_me) > 20
    assert {mail.folder for mail in from_me} >= {"sent"}
