"""One refresh for many callers, and never a refresh token used twice."""

import asyncio
import base64
import contextlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl

import httpx
import pytest

from providers.failures import (
    ClientRefused,
    NeedsReauth,
    ProviderFailure,
    Refused,
    TimedOut,
    Unreachable,
)
from providers.http.client import Origins, deadline
from providers.oauth.credentials import (
    BodyStyle,
    ClientCredentials,
    RefreshingCredentials,
    StaticToken,
    StoredCredentials,
    TokenEndpoint,
)

START = 1_780_000_000.0
TOKEN_URL = "https://id.test/oauth/token"


class Hand:
    """A clock turned by hand."""

    def __init__(self):
        self.seconds = 0.0

    def monotonic(self):
        return self.seconds

    def now(self):
        return START + self.seconds

    async def sleep(self, seconds):
        await asyncio.sleep(0)


class Identity:
    """A token endpoint that rotates refresh tokens and refuses used ones."""

    def __init__(self, *, rotates=True, lifetime=3600):
        self.good = "refresh-0"
        self.rotates = rotates
        self.lifetime = lifetime
        self.granted = 0
        self.asked = []
        self.failure = None
        self.gate = None

    async def __call__(self, request):
        content = await request.aread()
        kind = request.headers["content-type"]
        body = (
            json.loads(content) if kind == "application/json" else dict(parse_qsl(content.decode()))
        )
        self.asked.append((kind, body))
        if self.gate is not None:
            await self.gate.wait()
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        if body["grant_type"] == "refresh_token" and body["refresh_token"] != self.good:
            return httpx.Response(400, json={"error": "invalid_grant", "error_codes": [70008]})
        self.granted += 1
        answer = {"access_token": f"access-{self.granted}", "token_type": "Bearer"}
        if self.lifetime is not None:
            answer["expires_in"] = self.lifetime
        if self.rotates:
            self.good = answer["refresh_token"] = f"refresh-{self.granted}"
        return httpx.Response(200, json=answer)


class Store:
    """One connection's row, as several processes see it."""

    def __init__(self, clock, *, lifetime=3600.0):
        self.stored = StoredCredentials(
            access_token="access-0",
            refresh_token="refresh-0",
            expires_at=datetime.fromtimestamp(clock.now() + lifetime, UTC),
            version=1,
        )
        self.marked = 0
        self.saves = []
        self.lock = asyncio.Lock()

    async def load(self):
        await asyncio.sleep(0)
        return self.stored

    async def save(self, new, *, expected_version):
        await asyncio.sleep(0)
        if self.stored.version != expected_version:
            return False
        self.stored = new
        self.saves.append(new)
        return True

    async def mark_needs_reauth(self, cause):
        self.marked += 1
        self.cause = cause
        return cause

    @contextlib.asynccontextmanager
    async def lease(self):
        async with self.lock:
            yield


@pytest.fixture
def clock():
    return Hand()


@pytest.fixture
def identity():
    return Identity()


@pytest.fixture
def store(clock):
    return Store(clock)


@pytest.fixture
def process(clock, identity, store):
    """Makes what one process holds of the connection."""

    def make(*, leased=False, **options):
        origins = Origins(transport=httpx.MockTransport(identity), clock=clock)
        endpoint = TokenEndpoint(
            origins, TOKEN_URL, connection=1, client_id="us", client_secret="s3cret", **options
        )
        more = {"lease": store.lease} if leased else {}
        return RefreshingCredentials(store, endpoint, clock=clock, **more)

    return make


async def test_a_valid_token_is_used_as_it_is(process, identity):
    assert await process().token() == "access-0"
    assert identity.asked == []


async def test_a_token_is_refreshed_five_minutes_before_it_expires(process, identity, clock):
    credentials = process()
    clock.seconds = 3600 - 300
    assert await credentials.token() == "access-0"

    clock.seconds += 1
    assert await credentials.token() == "access-1"
    assert await credentials.token() == "access-1"
    assert identity.granted == 1


async def test_many_callers_cause_one_refresh(process, identity, clock):
    credentials = process()
    clock.seconds = 4000
    for round_ in range(1, 21):
        tokens = await asyncio.gather(*(credentials.token() for _ in range(60)))
        assert set(tokens) == {f"access-{round_}"}
        clock.seconds += 4000

    assert identity.granted == len(identity.asked) == 20


async def test_many_rejected_callers_cause_one_refresh(process, identity):
    credentials = process()
    tokens = await asyncio.gather(*(credentials.token(rejected="access-0") for _ in range(60)))
    late = await credentials.token(rejected="access-0")

    assert {*tokens, late} == {"access-1"}
    assert identity.granted == len(identity.asked) == 1


async def test_processes_with_a_lease_cause_one_refresh(process, identity, store, clock):
    processes = [process(leased=True) for _ in range(3)]
    clock.seconds = 4000
    for round_ in range(1, 11):
        tokens = await asyncio.gather(
            *(credentials.token() for credentials in processes for _ in range(20))
        )
        assert set(tokens) == {f"access-{round_}"}
        clock.seconds += 4000

    assert identity.granted == len(identity.asked) == 10
    assert store.marked == 0


async def test_processes_without_a_lease_end_up_with_one_token(process, identity, store, clock):
    """Both may ask; the one that is refused finds what the other has stored."""
    clock.seconds = 4000
    tokens = await asyncio.gather(*(process().token() for _ in range(2)))

    assert set(tokens) == {"access-1"}
    assert store.stored.refresh_token == identity.good == "refresh-1"
    assert store.marked == 0


async def test_a_slow_winner_does_not_cost_the_loser_its_connection(
    process, identity, store, clock
):
    class SlowToSave(Store):
        async def save(self, new, *, expected_version):
            for _ in range(20):
                await asyncio.sleep(0)
            return await super().save(new, expected_version=expected_version)

    slow = SlowToSave(clock)
    pauses = []

    async def sleep(seconds):
        pauses.append(seconds)
        for _ in range(15):
            await asyncio.sleep(0)

    clock.sleep = sleep
    first, second = process(), process()
    first._store = second._store = slow
    clock.seconds = 4000
    tokens = await asyncio.gather(first.token(), second.token())

    assert set(tokens) == {"access-1"}
    assert len(pauses) > 1
    assert slow.marked == 0


async def test_a_lost_race_reloads(process, identity, store, clock):
    identity.rotates = False
    clock.seconds = 4000
    tokens = await asyncio.gather(*(process().token() for _ in range(2)))

    assert len(store.saves) == 1
    assert set(tokens) == {store.stored.access_token}


async def test_the_new_refresh_token_is_stored_before_the_access_token_is_used(
    process, identity, store, clock
):
    clock.seconds = 4000
    assert await process().token() == "access-1"
    assert store.saves == [
        StoredCredentials(
            access_token="access-1",
            refresh_token="refresh-1",
            expires_at=datetime.fromtimestamp(clock.now() + 3600, UTC),
            version=2,
        )
    ]


async def test_the_refresh_token_is_kept_when_the_endpoint_does_not_rotate_it(
    process, identity, store, clock
):
    identity.rotates = False
    clock.seconds = 4000
    await process().token()

    assert store.stored.refresh_token == "refresh-0"


async def test_a_refused_refresh_token_needs_reauth(process, identity, store, clock):
    identity.good = "another"
    clock.seconds = 4000
    credentials = process()
    for _ in range(3):
        with pytest.raises(NeedsReauth):
            await credentials.token()

    assert store.marked == 1
    assert store.saves == []
    assert len(identity.asked) == 1


async def test_a_fresh_token_that_is_refused_is_not_refreshed_again(process, identity, clock):
    credentials = process()
    assert await credentials.token(rejected="access-0") == "access-1"
    for _ in range(5):
        with pytest.raises(NeedsReauth):
            await credentials.token(rejected="access-1")
    assert identity.granted == 1

    clock.seconds += 61
    assert await credentials.token(rejected="access-1") == "access-2"


async def test_a_token_is_used_until_it_expires_when_an_early_refresh_fails(
    process, identity, clock
):
    identity.failure = httpx.ConnectError("down")
    credentials = process()
    assert await credentials.token() == "access-0"
    clock.seconds = 3500
    assert await credentials.token() == "access-0"

    clock.seconds = 3600
    with pytest.raises(Unreachable):
        await credentials.token()


async def test_a_cancelled_caller_does_not_cancel_the_refresh(process, identity, store, clock):
    identity.gate = asyncio.Event()
    credentials = process()
    clock.seconds = 4000
    callers = [asyncio.create_task(credentials.token()) for _ in range(3)]
    await asyncio.sleep(0.01)
    callers[0].cancel()
    await asyncio.sleep(0)
    identity.gate.set()

    assert await asyncio.gather(*callers[1:]) == ["access-1", "access-1"]
    assert callers[0].cancelled()
    assert store.stored.version == 2


async def test_the_deadline_of_one_caller_does_not_end_the_refresh(process, clock):
    credentials = process()
    clock.seconds = 4000
    mark = deadline.set(clock.monotonic() - 1)
    try:
        first = asyncio.create_task(credentials.token())
    finally:
        deadline.reset(mark)

    assert await asyncio.gather(first, credentials.token()) == ["access-1", "access-1"]


async def test_short_lived_tokens_are_not_renewed_at_every_call(process, identity, clock):
    identity.lifetime = 60
    credentials = process()
    clock.seconds = 4000
    for _ in range(5):
        assert await credentials.token() == "access-1"
    clock.seconds += 31

    assert await credentials.token() == "access-2"


async def test_a_reconnected_account_is_noticed_when_its_old_token_is_refused(process, store):
    credentials = process()
    await credentials.token()
    store.stored = replace(store.stored, access_token="by-hand", version=7)

    assert await credentials.token(rejected="access-0") == "by-hand"


async def test_an_expired_token_without_a_refresh_token_needs_reauth(process, store, clock):
    store.stored = replace(store.stored, refresh_token=None)
    credentials = process()
    clock.seconds = 3590
    assert await credentials.token() == "access-0"

    clock.seconds = 3600
    with pytest.raises(NeedsReauth):
        await credentials.token()


async def test_the_form_style_sends_the_documented_members(process, identity, clock):
    clock.seconds = 4000
    await process(scope="mail.read offline_access").token()

    assert identity.asked == [
        (
            "application/x-www-form-urlencoded",
            {
                "grant_type": "refresh_token",
                "refresh_token": "refresh-0",
                "scope": "mail.read offline_access",
                "client_id": "us",
                "client_secret": "s3cret",
            },
        )
    ]


async def test_the_json_style_reads_the_expiry_from_the_token(process, identity, store, clock):
    end = START + 9_000

    def jwt(number):
        claims = base64.urlsafe_b64encode(json.dumps({"exp": end, "n": number}).encode())
        return f"e30.{claims.rstrip(b'=').decode()}.c2ln"

    async def answer(request):
        body = json.loads(await request.aread())
        assert body == {
            "grant_type": "refresh_token",
            "refresh_token": "refresh-0",
            "client_id": "us",
        }
        return httpx.Response(200, json={"access_token": jwt(1), "refresh_token": "refresh-1"})

    origins = Origins(transport=httpx.MockTransport(answer), clock=clock)
    endpoint = TokenEndpoint(origins, TOKEN_URL, connection=1, client_id="us", style=BodyStyle.JSON)
    clock.seconds = 4000
    await RefreshingCredentials(store, endpoint, clock=clock).token()

    assert store.stored.expires_at == datetime.fromtimestamp(end, UTC)


@pytest.mark.parametrize(
    "token",
    ["opaque", "a.b", "a.b.c", "a.!!!.c", "a.bnVsbA.c", "a.eyJleHAiOiJ4In0.c", "..", "é.é.é"],
)
async def test_a_token_without_an_expiry_is_used_until_it_is_refused(token, store, clock):
    async def answer(request):
        return httpx.Response(200, json={"access_token": token})

    origins = Origins(transport=httpx.MockTransport(answer), clock=clock)
    endpoint = TokenEndpoint(origins, TOKEN_URL, connection=1, client_id="us")
    clock.seconds = 4000
    credentials = RefreshingCredentials(store, endpoint, clock=clock)
    assert await credentials.token() == token
    clock.seconds += 10**6

    assert await credentials.token() == token
    assert store.stored.expires_at is None


async def test_a_code_is_exchanged_with_its_verifier(identity, clock):
    identity.lifetime = 3599
    origins = Origins(transport=httpx.MockTransport(identity), clock=clock)
    endpoint = TokenEndpoint(origins, TOKEN_URL, connection=1, client_id="us", client_secret="s")
    tokens = await endpoint.exchange("code-1", redirect_uri="https://gw.test/cb", verifier="v" * 43)

    assert tokens.access_token == "access-1"
    assert tokens.expires_at == datetime.fromtimestamp(START, UTC) + timedelta(seconds=3599)
    assert identity.asked[0][1] == {
        "grant_type": "authorization_code",
        "code": "code-1",
        "redirect_uri": "https://gw.test/cb",
        "code_verifier": "v" * 43,
        "client_id": "us",
        "client_secret": "s",
    }


DENIALS = {
    "a used refresh token": (400, {"error": "invalid_grant"}, NeedsReauth),
    "a missing consent": (400, {"error": "consent_required"}, NeedsReauth),
    "a second factor": (400, {"error": "interaction_required"}, NeedsReauth),
    "a wrong client": (401, {"error": "invalid_client"}, ClientRefused),
    "no word at all": (400, ["?"], Refused),
    "a proxy in between": (403, "forbidden", Refused),
}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            {"error": "unauthorized_client", "error_codes": [7000222]},
            "The secret of the OAuth client has expired: store a new one.",
        ),
        (
            {"error": "invalid_client", "error_codes": [7000215]},
            "The provider refuses the OAuth client: its id or secret is wrong or expired.",
        ),
        ({"error": "invalid_scope"}, "The provider refused the request."),
    ],
)
async def test_a_refused_client_is_named(body, sentence, clock):
    async def answer(request):
        return httpx.Response(401, json=body)

    origins = Origins(transport=httpx.MockTransport(answer), clock=clock)
    endpoint = TokenEndpoint(origins, TOKEN_URL, connection=1, client_id="us")
    with pytest.raises(ProviderFailure) as raised:
        await endpoint.client_credentials()

    assert raised.value.message == sentence


@pytest.mark.parametrize(("status", "body", "failure"), DENIALS.values(), ids=DENIALS)
async def test_only_final_oauth_errors_need_reauth(status, body, failure, store, clock):
    async def answer(request):
        return httpx.Response(status, json=body)

    origins = Origins(transport=httpx.MockTransport(answer), clock=clock)
    endpoint = TokenEndpoint(origins, TOKEN_URL, connection=1, client_id="us")
    clock.seconds = 4000
    with pytest.raises(failure):
        await RefreshingCredentials(store, endpoint, clock=clock).token()

    assert store.marked == (1 if failure is NeedsReauth else 0)


async def test_client_credentials_are_cached_until_shortly_before_they_expire(identity, clock):
    origins = Origins(transport=httpx.MockTransport(identity), clock=clock)
    endpoint = TokenEndpoint(
        origins, TOKEN_URL, connection=1, client_id="us", client_secret="s", scope="all/.default"
    )
    credentials = ClientCredentials(endpoint, clock=clock)
    first = await asyncio.gather(*(credentials.token() for _ in range(20)))
    clock.seconds += 3400

    assert set(first) == {"access-1"}
    assert await credentials.token() == "access-2"
    assert identity.asked[0][1] == {
        "grant_type": "client_credentials",
        "scope": "all/.default",
        "client_id": "us",
        "client_secret": "s",
    }


async def test_a_fresh_client_token_that_is_refused_is_not_requested_again(identity, clock):
    origins = Origins(transport=httpx.MockTransport(identity), clock=clock)
    endpoint = TokenEndpoint(origins, TOKEN_URL, connection=1, client_id="us")
    credentials = ClientCredentials(endpoint, clock=clock)
    first = await credentials.token()
    for _ in range(3):
        with pytest.raises(NeedsReauth):
            await credentials.token(rejected=first)
    clock.seconds += 61

    assert await credentials.token(rejected=first) == "access-2"
    assert identity.granted == 2


async def test_a_static_token_that_is_refused_needs_reauth():
    fixed = StaticToken("key", scheme="")
    assert (fixed.scheme, await fixed.token()) == ("", "key")
    for refused in (fixed.token(rejected="key"), StaticToken("").token()):
        with pytest.raises(NeedsReauth):
            await refused


def test_secrets_are_not_part_of_reprs():
    shown = [
        repr(StaticToken("s3cret")),
        repr(StoredCredentials(access_token="s3cret", refresh_token="s3cret")),
    ]

    assert "s3cret" not in "".join(shown)


async def test_an_endpoint_that_does_not_respond_times_out(store, clock, monkeypatch):
    async def silent(request):
        raise httpx.ReadTimeout("silence")

    origins = Origins(transport=httpx.MockTransport(silent), clock=clock)
    endpoint = TokenEndpoint(origins, TOKEN_URL, connection=1, client_id="us")
    clock.seconds = 4000
    with pytest.raises(TimedOut):
        await RefreshingCredentials(store, endpoint, clock=clock).token()


async def test_a_huge_answer_of_a_token_endpoint_is_not_read(store, clock):
    def answer(_):
        return httpx.Response(200, json={"access_token": "a", "scope": "x " * 200_000})

    origins = Origins(transport=httpx.MockTransport(answer), clock=clock)
    endpoint = TokenEndpoint(origins, TOKEN_URL, connection=1, client_id="us")
    clock.seconds = 4000
    before = store.stored
    with pytest.raises(ProviderFailure):
        await RefreshingCredentials(store, endpoint, clock=clock).token()

    assert store.stored == before
