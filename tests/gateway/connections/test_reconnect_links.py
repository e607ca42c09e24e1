"""Reconnect links are good for a week, and leases for as long as their holder lives."""

import pytest

from gateway.connections.reconnect_links import InvalidLink, ReconnectLinks
from gateway.secrets.keyring import Keyring
from gateway.store.leases import MAX_LEASE_SECONDS, Leases

DAY = 24 * 60 * 60 * 1000


class Hand:
    """Milliseconds, moved by hand."""

    now = 20_000 * DAY

    def __call__(self):
        return self.now


@pytest.fixture
def hand():
    return Hand()


def links(hand, *secrets):
    ring = Keyring(secrets or ("a secret key of the tests",))
    return ReconnectLinks(ring, "https://gw.example", has_client=lambda _: True, clock=hand)


def last_part(url):
    return url.rpartition("/")[2]


def test_a_link_is_the_same_all_day_and_valid_for_a_week(hand):
    url = links(hand).url(7)
    hand.now += DAY - 1
    assert links(hand).url(7) == url
    hand.now += 7 * DAY
    assert links(hand).verify(last_part(url)) == 7
    hand.now += 1
    with pytest.raises(InvalidLink):
        links(hand).verify(last_part(url))


def test_a_link_outlives_a_rotation_of_keys_but_not_its_key(hand):
    old, new = "the old key of the tests", "the new key of the tests"
    text = last_part(links(hand, old).url(7))

    assert links(hand, new, old).verify(text) == 7
    with pytest.raises(InvalidLink):
        links(hand, new).verify(text)


def test_a_link_is_for_its_own_connection(hand):
    _, day, signature = last_part(links(hand).url(7)).split(".")

    with pytest.raises(InvalidLink):
        links(hand).verify(f"8.{day}.{signature}")


def test_only_connections_that_need_consent_have_a_reconnect_link(hand):
    made = links(hand)
    facts = {"provider": "COLLAB", "mode": "delegated"}

    assert made.link_for(7, **facts) == made.url(7)
    assert made.link_for(7, **{**facts, "mode": "selected_sites"}) is None


async def test_a_lease_of_a_crashed_holder_ends(database, hand):
    crashed, other = Leases(database, clock=hand), Leases(database, clock=hand)
    assert await crashed._take("refresh:7", "a")
    assert not await other._take("refresh:7", "b")
    hand.now += round(MAX_LEASE_SECONDS * 1000)
    assert await other._take("refresh:7", "b")


async def test_a_lease_is_free_when_its_holder_is_done(database):
    leases = Leases(database)
    async with leases.hold("refresh:7"):
        assert not await leases._take("refresh:7", "another")
    assert await leases._take("refresh:7", "another")
