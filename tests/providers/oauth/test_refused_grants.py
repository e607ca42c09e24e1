"""The errors of token endpoints: which end a grant, for which cause, and which are passing."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from providers.catalogue.causes import Cause
from providers.failures import Broken, ClientRefused, NeedsReauth, ProviderFailure
from providers.http.client import Origins
from providers.oauth.credentials import RefreshingCredentials, StoredCredentials, TokenEndpoint

START = 1_780_000_000.0
DAY = 86_400


class Hand:
    """A clock turned by hand."""

    seconds = 0.0

    def monotonic(self):
        return self.seconds

    def now(self):
        return START + self.seconds

    async def sleep(self, seconds):
        await asyncio.sleep(0)


class Store:
    """The row of a connection whose access token has expired."""

    def __init__(self, **more):
        ended = datetime.fromtimestamp(START, UTC) - timedelta(seconds=1)
        self.stored = StoredCredentials(
            access_token="old", refresh_token="refresh", expires_at=ended, version=1, **more
        )
        self.causes = []

    async def load(self):
        return self.stored

    async def save(self, new, *, expected_version):
        self.stored = new
        return True

    async def mark_needs_reauth(self, cause):
        self.causes.append(cause)
        return cause


def credentials(store, answer, clock=None):
    clock = clock or Hand()
    origins = Origins(transport=httpx.MockTransport(answer), clock=clock)
    endpoint = TokenEndpoint(origins, "https://id.test/token", connection=1, client_id="us")
    return RefreshingCredentials(store, endpoint, clock=clock)


def microsoft(number, error="invalid_grant"):
    return {"error": error, "error_codes": [number], "error_description": f"AADSTS{number}: no."}


# Numbers as Microsoft's page of AADSTS error codes has them, and errors of Google's pages.
ENDED = [
    ({"error": "invalid_grant"}, Cause.CONSENT_WITHDRAWN),
    (microsoft(65001), Cause.CONSENT_WITHDRAWN),
    (microsoft(65001, "consent_required"), Cause.CONSENT_WITHDRAWN),
    (microsoft(70000), Cause.CONSENT_WITHDRAWN),
    (microsoft(700082), Cause.CONSENT_UNUSED),
    (microsoft(70008), Cause.CONSENT_UNUSED),
    (microsoft(700084), Cause.CONSENT_EXPIRED),
    (microsoft(50173), Cause.PASSWORD_CHANGED),
    (microsoft(50133), Cause.PASSWORD_CHANGED),
    (microsoft(50055), Cause.PASSWORD_EXPIRED),
    (microsoft(50076, "interaction_required"), Cause.SIGN_IN_REQUIRED),
    (microsoft(50079, "interaction_required"), Cause.SIGN_IN_REQUIRED),
    (microsoft(70043), Cause.SIGN_IN_REQUIRED),
    (microsoft(53003), Cause.DENIED_BY_POLICY),
    (microsoft(50105, "interaction_required"), Cause.DENIED_BY_POLICY),
    (microsoft(50057), Cause.ACCOUNT_BLOCKED),
    (microsoft(50034), Cause.ACCOUNT_BLOCKED),
    ({"error": "admin_policy_enforced"}, Cause.DENIED_BY_POLICY),
    ({"error": "org_internal"}, Cause.DENIED_BY_POLICY),
    ({"error": "invalid_grant", "error_subtype": "invalid_rapt"}, Cause.SIGN_IN_REQUIRED),
    (
        {"error": "invalid_grant", "error_description": "Account has been deleted"},
        Cause.ACCOUNT_BLOCKED,
    ),
    (microsoft(999_999_999), Cause.CONSENT_WITHDRAWN),
    (microsoft(999_999_999, "interaction_required"), Cause.SIGN_IN_REQUIRED),
]


@pytest.mark.parametrize(("body", "cause"), ENDED, ids=[str(body) for body, _ in ENDED])
async def test_an_ended_grant_has_a_cause_that_later_calls_tell_too(body, cause):
    store = Store()
    ended = credentials(store, lambda _: httpx.Response(400, json=body))
    told = []
    for _ in range(2):
        with pytest.raises(NeedsReauth) as raised:
            await ended.token()
        told.append(raised.value)

    assert store.causes == [cause]
    assert [failure.cause for failure in told] == [cause, cause]
    assert f"({cause.value})" in told[0].message


CLIENTS = [
    (microsoft(7000222, "invalid_client"), Cause.CLIENT_SECRET_EXPIRED),
    (microsoft(7000215, "invalid_client"), Cause.CLIENT_REFUSED),
    (microsoft(700016, "unauthorized_client"), Cause.CLIENT_REFUSED),
    (microsoft(700016), Cause.CLIENT_REFUSED),
    ({"error": "deleted_client"}, Cause.CLIENT_REFUSED),
]


@pytest.mark.parametrize(("body", "cause"), CLIENTS, ids=[str(body) for body, _ in CLIENTS])
async def test_a_refused_client_leaves_the_connection_as_it_is(body, cause):
    store = Store()
    with pytest.raises(ClientRefused) as raised:
        await credentials(store, lambda _: httpx.Response(401, json=body)).token()

    assert (raised.value.cause, store.causes) == (cause, [])


PASSING = [40010, 50033, 50087, 50088, 50166, 50196, 70012, 80001, 80002, 80014, 90033]


@pytest.mark.parametrize("number", PASSING)
async def test_a_passing_fault_in_the_words_of_an_end_ends_nothing(number):
    """Some faults of Microsoft that pass by themselves come as `invalid_grant`."""
    store = Store()
    with pytest.raises(Broken):
        await credentials(store, lambda _: httpx.Response(400, json=microsoft(number))).token()

    assert store.causes == []


HTML = "<html><title>invalid_grant</title>login_required</html>"


def fault(chance):
    """Return what answers a request with one of the faults that say nothing about a grant."""
    word = chance.choice(
        ["temporarily_unavailable", "server_error", "slow_down", "invalid_request"]
    )
    bodies = [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"error":',
        b'{"error": "invalid_gra',
        b'{"error": 5}',
        b'{"error": null}',
        b'{"error": ["invalid_grant"]}',
        b'{"errors": "invalid_grant"}',
        HTML.encode(),
        b"\xff\xfe\x00",
        b'{"error": "%s"}' % word.encode(),
        str(microsoft(chance.choice(PASSING))).replace("'", '"').encode(),
    ]
    kind = chance.randrange(5)
    if kind == 0:
        return chance.choice([httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError])("x")
    if kind == 1:
        return chance.choice([httpx.ConnectTimeout, httpx.ReadTimeout])("x")
    if kind == 2:  # what a status says counts more than a body
        status = chance.choice([429, 500, 502, 503, 504, 408, 404, 405, 302, 418, 451])
        body = chance.choice([*bodies, b'{"error": "invalid_grant"}', b'{"error":"access_denied"}'])
        headers = {"retry-after": "1"} if chance.random() < 0.2 else {}
        return httpx.Response(status, content=body, headers=headers)
    if kind == 3:  # a success that is none
        body = chance.choice([*bodies, b'{"access_token": ""}', b'{"access_token": 5}'])
        return httpx.Response(200, content=body)
    return httpx.Response(chance.choice([400, 401, 403]), content=chance.choice(bodies))


@pytest.mark.tries(200, 10_000)
async def test_no_fault_calls_a_healthy_connection_dead(tries):
    """Each connection has an authorization server of its own, which fails once and then answers."""
    chance, clock, plans = random.Random(35), Hand(), {}

    def answer(request):
        planned = plans[request.url.host]
        if isinstance(planned, Exception):
            raise planned
        return planned

    origins = Origins(transport=httpx.MockTransport(answer), clock=clock)
    deaths, recovered = [], 0
    for number in range(tries):
        store, host = Store(), f"id{number}.test"
        endpoint = TokenEndpoint(origins, f"https://{host}/t", connection=number, client_id="us")
        held = RefreshingCredentials(store, endpoint, clock=clock)
        plans[host] = planned = fault(chance)
        try:
            await held.token()
        except NeedsReauth:
            deaths.append(planned)
        except ProviderFailure:
            pass
        clock.seconds += 600  # after every wait
        plans[host] = httpx.Response(200, json={"access_token": "new", "expires_in": 3600})
        recovered += await held.token() == "new"
        deaths += store.causes

    assert (deaths, recovered) == ([], tries)


# -- ends


def granted(**more):
    return httpx.Response(200, json={"access_token": "new", "expires_in": 3600, **more})


async def renewed(answer, **stored):
    store = Store(**stored)
    await credentials(store, lambda _: answer).token()
    return store.stored


def at(days, seconds=0):
    return datetime.fromtimestamp(START, UTC) + timedelta(days=days, seconds=seconds)


async def test_a_refresh_token_ends_when_its_response_says():
    assert (await renewed(granted(refresh_token_expires_in=7 * DAY))).refresh_expires_at == at(7)
    assert (await renewed(granted(refresh_token_expires_in="60"))).refresh_expires_at == at(0, 60)
    assert (await renewed(granted())).refresh_expires_at is None


@pytest.mark.parametrize("drift", [-60, -1, 0, 1, 60])
async def test_a_fixed_end_stays_where_it_was(drift):
    ends = at(5)
    response = granted(refresh_token_expires_in=5 * DAY + drift)
    stored = await renewed(response, refresh_expires_at=ends)

    assert (stored.refresh_expires_at, stored.refresh_slides) == (ends, False)


async def test_an_end_that_uses_move_is_known_to_slide():
    response = granted(refresh_token="next", refresh_token_expires_in=DAY)
    stored = await renewed(response, refresh_expires_at=at(0, 3600))

    assert (stored.refresh_expires_at, stored.refresh_slides) == (at(1), True)


async def test_the_end_of_a_replaced_refresh_token_is_forgotten():
    kept = await renewed(granted(), refresh_expires_at=at(5))
    replaced = await renewed(granted(refresh_token="next"), refresh_expires_at=at(5))

    assert (kept.refresh_expires_at, replaced.refresh_expires_at) == (at(5), None)
