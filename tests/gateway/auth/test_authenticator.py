"""A token is looked at anew by every request, in every process that shares the store."""

import asyncio

import pytest
from sqlalchemy import delete
from sqlmodel import col

from gateway.auth import token_format, tokens
from gateway.auth.authenticator import Authenticator
from gateway.auth.last_uses import LastUses
from gateway.auth.token_lookup import open_row_reader
from gateway.operations import resources
from gateway.store import timestamps
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import (
    AccessToken,
    CollabRule,
    ConnectionRow,
    Operator,
    OperatorResource,
    Resource,
)
from policy import grants
from policy.refusals import Unauthenticated
from policy.rule_facts import Facts
from policy.vocabulary import EmailOp

NOW = 1_795_000_000_000


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


class Process:
    """One process's way to callers over the shared file."""

    def __init__(self, database, clock):
        self.touched = []
        self.lookup = open_row_reader(database)
        self.callers = Authenticator(
            self.lookup,
            base_url=lambda kind, provider: f"https://{kind}.{provider.lower()}.example",
            record_use=lambda token, now: self.touched.append((token, now)),
            clock=clock,
        )

    async def ask(self, text):
        return await self.callers.authenticate([(b"authorization", f"Bearer {text}".encode())])

    async def reason(self, text):
        with pytest.raises(Unauthenticated) as refusal:
            await self.ask(text)
        return refusal.value.reason


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def first(database, clock):
    process = Process(database, clock)
    yield process
    process.lookup.close()


@pytest.fixture
async def second(store, clock):
    """Another process: its own engines and connections on the same file."""
    database = Database.open(store)
    process = Process(database, clock)
    yield process
    process.lookup.close()
    await database.close()


@pytest.fixture
async def text(database):
    """A token of operator "o" on resources 1 and 2, which "another" operator shares; its text."""
    async with database.writing() as session:
        for operator in ("o", "another"):
            address = f"{operator}@example.org"
            session.add(Operator(id=operator, email=address, display_name="O", created_at=NOW))
        for name in ("one", "two", "three"):
            session.add(Resource(name=name, created_at=NOW))
        await session.flush()
        for resource, operator, provider in (
            (2, "o", "PROVIDER_B"),
            (1, "o", "PROVIDER_A"),
            (3, "o", "PROVIDER_A"),
            (1, "another", "PROVIDER_A"),
            (2, "another", "PROVIDER_B"),
        ):
            session.add(OperatorResource(operator_id=operator, resource_id=resource))
            session.add(
                ConnectionRow(
                    resource_id=resource,
                    operator_id=operator,
                    kind="email",
                    provider=provider,
                    account_email=f"{operator}@example.org",
                    granted_scopes=["Mail.Send"],
                    can_write=True,
                    status="active",
                    selected_site_ids=[],
                    created_at=NOW,
                    updated_at=NOW,
                )
            )
        _, text = await tokens.create(
            session,
            name="reports",
            operator_id="o",
            resource_ids=[1, 2],
            expires_at=None,
            settings=grants.validate({"emailAccessEnabled": True}),
        )
    return text


async def change(database, **values):
    async with database.writing() as session:
        token = await session.get(AccessToken, 1)
        for name, value in values.items():
            setattr(token, name, value)
        token.policy_rev += 1
        session.add(token)


async def test_a_caller_has_its_token_settings_and_connections(first, text):
    caller = await first.ask(text)

    assert (caller.token_id, caller.token_name, caller.operator_id) == (1, "reports", "o")
    assert caller.key_id == text[4:12]
    assert caller.expires_at is None
    assert caller.grant.email_enabled is True
    assert caller.settings["emailAccessEnabled"] is True
    assert caller.allows(EmailOp.VIEW_EMAIL) is True
    assert caller.allows(EmailOp.SEND_EMAIL) is False
    assert [(c.id, c.provider, c.resource_id) for c in caller.connections] == [
        (1, "PROVIDER_B", 2),
        (2, "PROVIDER_A", 1),
    ]
    assert caller.connections[0].base_url == "https://email.provider_b.example"
    assert caller.connections[0].granted_scopes == ("Mail.Send",)
    assert caller.connections[0].can_write is True


async def reach(process, text):
    """Return the connections of a token's requests, which are those of questions about it."""
    connections = (await process.ask(text)).connections
    assert await process.callers.connections_of(1) == connections
    return [connection.id for connection in connections]


async def test_a_token_reaches_the_connections_of_its_operator_alone(database, first, text):
    assert await reach(first, text) == [1, 2]

    await change(database, operator_id="another")
    assert await reach(first, text) == [4, 5]


async def test_a_link_takes_effect_at_the_next_request_in_every_process(
    database, first, second, text
):
    for process in (first, second):
        assert await reach(process, text) == [1, 2]
    async with database.writing() as session:
        resource = await session.get(Resource, 2)
        await resources.link(session, resource, ["another"])

    for process in (first, second):
        assert await reach(process, text) == [2]
    async with database.writing() as session:
        resource = await session.get(Resource, 2)
        await resources.link(session, resource, ["o"])

    for process in (first, second):
        assert await reach(process, text) == [1, 2]
        assert (await process.ask(text)).policy_rev == 3


async def test_a_token_without_any_link_reaches_nothing(database, first, text):
    async with database.writing() as session:
        await session.exec(delete(OperatorResource))

    assert await reach(first, text) == []


async def test_a_revocation_takes_effect_at_the_next_request_in_every_process(
    database, first, second, text
):
    for process in (first, second):
        await process.ask(text)
    async with database.writing() as session:
        await tokens.revoke(session, col(AccessToken.id) == 1)

    assert await first.reason(text) == "REVOKED"
    assert await second.reason(text) == "REVOKED"


async def test_changed_settings_take_effect_at_the_next_request_in_every_process(
    database, first, second, text
):
    for process in (first, second):
        assert (await process.ask(text)).grant.email_enabled is True
    await change(database, settings=grants.validate({}))

    for process in (first, second):
        caller = await process.ask(text)
        assert caller.grant.email_enabled is False
        assert caller.policy_rev == 2


async def test_a_disabled_connection_takes_effect_at_once(database, second, text):
    await second.ask(text)
    async with database.writing() as session:
        row = await session.get(ConnectionRow, 2)
        row.status = "needs_reauth"
        session.add(row)

    assert [c.status for c in (await second.ask(text)).connections] == ["active", "needs_reauth"]


async def test_expiry_is_exact_to_the_millisecond(database, first, clock, text):
    await change(database, expires_at=NOW + 1000)

    assert (await first.ask(text)).expires_at == timestamps.from_ms(NOW + 1000)
    clock.now += 999
    await first.ask(text)
    clock.now += 1
    assert await first.reason(text) == "EXPIRED"


async def test_a_caller_is_used_again_until_a_commit(database, first, text):
    caller = await first.ask(text)
    assert await first.ask(text) is caller

    await change(database, name="renamed")

    again = await first.ask(text)
    assert again is not caller
    assert again.token_name == "renamed"


async def test_a_caller_that_is_used_again_still_expires(database, first, clock, text):
    await change(database, expires_at=NOW + 1000)
    caller = await first.ask(text)
    clock.now = NOW + 999
    assert await first.ask(text) is caller
    clock.now = NOW + 1000
    assert await first.reason(text) == "EXPIRED"


async def test_a_second_credential_is_refused_though_the_first_is_known(first, text):
    await first.ask(text)
    header = (b"authorization", f"Bearer {text}".encode())
    with pytest.raises(Unauthenticated) as refusal:
        await first.callers.authenticate([header, header])
    assert refusal.value.reason == "MALFORMED_HEADER"


async def test_revoked_is_reported_before_expired(database, first, text):
    await change(database, expires_at=NOW, revoked_at=NOW)

    assert await first.reason(text) == "REVOKED"


async def test_a_rotated_secret_is_accepted_during_its_grace_period(
    database, first, clock, text, monkeypatch
):
    monkeypatch.setattr(timestamps, "now_ms", clock)
    async with database.writing() as session:
        token = await session.get(AccessToken, 1)
        renewed = await tokens.rotate(session, token, grace_seconds=10)

    assert (await first.ask(text)).token_id == (await first.ask(renewed)).token_id == 1
    clock.now += 10_000
    assert await first.reason(text) == "REVOKED"
    assert (await first.ask(renewed)).key_id == renewed[4:12]


async def test_without_grace_a_rotated_secret_is_refused_at_once(
    database, first, clock, text, monkeypatch
):
    monkeypatch.setattr(timestamps, "now_ms", clock)
    async with database.writing() as session:
        token = await session.get(AccessToken, 1)
        await tokens.rotate(session, token, grace_seconds=0)

    assert await first.reason(text) == "REVOKED"


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        pytest.param(None, "MISSING_HEADER", id="none"),
        pytest.param(b"", "MALFORMED_HEADER", id="empty"),
        pytest.param(b"Bearer", "MALFORMED_HEADER", id="no credential"),
        pytest.param(b"Basic abc", "MALFORMED_HEADER", id="another scheme"),
        pytest.param(b"Bearer a b", "MALFORMED_HEADER", id="two credentials"),
        pytest.param(b"Bearer\tabc", "MALFORMED_HEADER", id="a tab"),
        pytest.param(b"Bearer abc", "UNKNOWN_TOKEN", id="no token of ours"),
        pytest.param(b"Bearer \xff\xfe", "UNKNOWN_TOKEN", id="no text"),
        pytest.param(
            b"Bearer " + token_format.from_bits(5).text.encode(), "UNKNOWN_TOKEN", id="never made"
        ),
        pytest.param(
            b"Bearer " + token_format.from_bits(5).text[:-1].encode() + b"!",
            "UNKNOWN_TOKEN",
            id="wrong checksum",
        ),
    ],
)
async def test_reasons_of_a_401(first, header, reason):
    headers = [] if header is None else [(b"authorization", header)]
    with pytest.raises(Unauthenticated) as refusal:
        await first.callers.authenticate(headers)

    assert refusal.value.reason == reason


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(b"Bearer ", id="one blank"),
        pytest.param(b"Bearer  ", id="two blanks"),
        pytest.param(b"Bearer     ", id="five blanks"),
        pytest.param(b"bEARER  ", id="two blanks, another case"),
    ],
)
async def test_blanks_may_stand_between_scheme_and_credential(first, text, scheme):
    for _ in ("read from the store", "known"):
        caller = await first.callers.authenticate([(b"authorization", scheme + text.encode())])

        assert caller.token_id == 1


async def test_a_mistyped_token_reads_no_storage(clock):
    class Nothing:
        async def rows(self, query, values):
            raise AssertionError("storage was asked")

    callers = Authenticator(Nothing(), base_url=lambda *_: "", clock=clock)
    text = token_format.generate().text
    swapped = text[:20] + ("a" if text[20] != "a" else "b") + text[21:]
    with pytest.raises(Unauthenticated):
        await callers.authenticate([(b"authorization", f"Bearer {swapped}".encode())])


async def test_a_use_is_recorded_once_a_minute(database, first, clock, text):
    for step in (0, 30_000, 29_999):
        clock.now += step
        await first.ask(text)
    assert first.touched == [(1, NOW)]
    clock.now += 1
    await first.ask(text)

    assert first.touched == [(1, NOW), (1, NOW + 60_000)]


async def test_a_later_use_is_stored_by_one_process_once_a_minute(database, text):
    uses = LastUses(database)
    for now, stored in ((NOW, NOW), (NOW - 5, NOW), (NOW + 59_999, NOW), (NOW + 60_000,) * 2):
        uses.record(1, now)
        await uses.write()

        async with database.reading() as session:
            assert (await session.get(AccessToken, 1)).last_used_at == stored


async def test_unreadable_settings_grant_nothing(database, first, text):
    async with database.writing() as session:
        connection = await session.connection()
        await connection.exec_driver_sql("UPDATE access_tokens SET settings='{', policy_rev=9")

    caller = await first.ask(text)
    assert caller.grant.email_enabled is False
    assert caller.grant.task_operations == frozenset()


async def test_without_the_store_authentication_fails(first, text, store):
    from pathlib import Path

    await first.ask(text)
    first.lookup.close()
    for path in Path(store.removeprefix("sqlite+aiosqlite:///")).parent.glob("gateway.db*"):
        path.unlink()

    with pytest.raises(StorageUnavailable):
        await first.ask(text)


async def test_many_requests_at_once_are_all_answered(first, text):
    callers = await asyncio.gather(*(first.ask(text) for _ in range(200)))

    assert {caller.token_id for caller in callers} == {1}


async def ruled(database, *rules, **settings):
    async with database.writing() as session:
        token = await session.get(AccessToken, 1)
        token.settings = grants.validate(settings)
        token.policy_rev += 1
        session.add(token)
        for rule_type, pattern, action in rules:
            session.add(
                CollabRule(
                    token_id=1,
                    rule_type=rule_type,
                    pattern=pattern,
                    action=action,
                    source="manual",
                    created_at=NOW,
                    updated_at=NOW,
                )
            )


async def test_a_caller_has_the_current_rules_in_every_process(database, first, second, text):
    file = Facts(item=("d", "i"), drive_id="d", site_id="s", list_id="l", list_item_id="1")
    assert not (await first.ask(text)).rules.decide(file).allowed

    await ruled(database, ("drive_id", "d", "allow"), collabAccessEnabled=True)
    for process in (first, second):
        assert (await process.ask(text)).rules.decide(file).allowed

    await ruled(database, ("file_id", "i", "block"), collabAccessEnabled=True)
    for process in (first, second):
        assert not (await process.ask(text)).rules.decide(file).allowed


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        pytest.param(("colour", "x", "allow"), True, id="an allow of an unknown type says nothing"),
        pytest.param(("colour", "x", "block"), False, id="a block of an unknown type allows none"),
        pytest.param(("drive_id", "x", "perhaps"), False, id="an unknown action allows none"),
    ],
)
async def test_an_unreadable_rule_never_grants(database, first, text, rule, allowed):
    await ruled(database, rule, collabAccessEnabled=True, collabAllowAllDefault=True)

    assert (await first.ask(text)).rules.decide(Facts(drive_id="d")).allowed is allowed


async def test_rules_are_read_only_for_an_enabled_surface(database, first, text):
    await ruled(database, ("drive_id", "d", "allow"), collabAllowAllDefault=True)

    assert not (await first.ask(text)).rules.decide(Facts(drive_id="d")).allowed
