"""A child token allows what its ancestors allow at that moment, in every process."""

from random import Random

import pytest
import pytest_asyncio
from database_servers import postgres_server
from run_sizes import times
from sqlalchemy import delete
from sqlmodel import col

from gateway.auth import tokens
from gateway.auth.authenticator import Authenticator
from gateway.auth.token_lookup import open_row_reader
from gateway.rule_intents.log import add_allow_rule
from gateway.store import timestamps
from gateway.store.database import Database
from gateway.store.tables import (
    AccessToken,
    CollabRule,
    ConnectionRow,
    Operator,
    OperatorResource,
    Resource,
    TokenResource,
)
from policy import grants
from policy.describe import child_info
from policy.refusals import Unauthenticated
from policy.rule_facts import Facts
from policy.vocabulary import EmailField, EmailOp, RuleType, Surface

NOW = 1_795_000_000_000
REVOCATIONS = times(15)
WIDE = {
    "emailAccessEnabled": True,
    "allowedEmailOperations": ["all"],
    "collabAccessEnabled": True,
    "collabAllowAllDefault": True,
    "allowChildren": True,
}
IN_A = Facts(item=("b!d", "A"), drive_id="b!d", site_id="s")
IN_B = Facts(item=("b!d", "B"), drive_id="b!d", site_id="s")


@pytest.fixture
def kind():
    """The kind of database."""
    return "sqlite"


@pytest_asyncio.fixture
async def store(kind, store):
    """Return the URL of a migrated database: a file's, or that of a server of the test's own."""
    if kind == "sqlite":
        yield store
        return
    with postgres_server() as server:
        database = Database.open(server.url)
        await database.migrate()
        await database.close()
        yield server.url


class Process:
    """One process's way to callers over the shared file."""

    def __init__(self, database):
        self.now = NOW
        self.lookup = open_row_reader(database)
        self.callers = Authenticator(
            self.lookup, base_url=lambda kind, provider: "https://x.example", clock=lambda: self.now
        )

    async def ask(self, text):
        return await self.callers.authenticate([(b"authorization", f"Bearer {text}".encode())])

    async def reason(self, text):
        with pytest.raises(Unauthenticated) as refusal:
            await self.ask(text)
        return refusal.value.reason


@pytest.fixture
def process(database):
    opened = Process(database)
    yield opened
    opened.lookup.close()


@pytest.fixture
async def another(store):
    """Another process: its own engines and connections on the same file."""
    database = Database.open(store)
    opened = Process(database)
    yield opened
    opened.lookup.close()
    await database.close()


@pytest.fixture
async def world(database):
    """An operator with mail on resources 1 and 2."""
    async with database.writing() as session:
        session.add(Operator(id="o", email="o@x.example", display_name="O", created_at=NOW))
        for number in (1, 2):
            session.add(Resource(name=f"r{number}", created_at=NOW))
            await session.flush()
            session.add(OperatorResource(operator_id="o", resource_id=number))
            session.add(
                ConnectionRow(
                    resource_id=number,
                    operator_id="o",
                    kind="email",
                    provider="PROVIDER_A",
                    account_email="o@x.example",
                    granted_scopes=[],
                    can_write=True,
                    status="active",
                    selected_site_ids=[],
                    created_at=NOW,
                    updated_at=NOW,
                )
            )


async def stored(database, parent_id=None, *, expires_at=None, **settings):
    """Store a token; return its id and text."""
    async with database.writing() as session:
        token, text = await tokens.create(
            session,
            name="t",
            operator_id="o",
            resource_ids=[1, 2],
            expires_at=expires_at,
            settings=grants.validate({**WIDE, **settings}),
            parent_id=parent_id,
        )
        return token.id, text


@pytest.fixture
async def chain(database, world):
    """A token, its child, its grandchild and their child, all with every right; ids and texts."""
    made, parent = [], None
    for _ in range(4):
        made.append(await stored(database, parent))
        parent = made[-1][0]
    return made


async def change(database, token_id, *, settings=None, **values):
    async with database.writing() as session:
        token = await session.get(AccessToken, token_id)
        for name, value in values.items():
            setattr(token, name, value)
        token.settings = grants.merge(token.settings, settings or {})
        token.policy_rev += 1
        session.add(token)


async def test_a_narrowed_ancestor_narrows_at_the_next_request_in_every_process(
    database, process, another, chain
):
    for reader in (process, another):
        for _, text in chain:
            caller = await reader.ask(text)
            assert caller.allows(EmailOp.SEND_EMAIL)
            assert not caller.hides(EmailField.BODY)
    await change(database, chain[0][0], settings={"allowedEmailOperations": ["read_only"]})
    await change(database, chain[2][0], settings={"visibleEmailFields": ["subject"]})

    for reader in (process, another):
        seen = [await reader.ask(text) for _, text in chain]
        assert [caller.allows(EmailOp.SEND_EMAIL) for caller in seen] == [False] * 4
        assert [caller.hides(EmailField.BODY) for caller in seen] == [False, False, True, True]
        assert [caller.narrowed for caller in seen] == [
            (),
            ("allowedEmailOperations",),
            ("allowedEmailOperations",),
            ("allowedEmailOperations", "visibleEmailFields"),
        ]
        assert seen[3].settings["visibleEmailFields"] == ["subject"]
        assert [caller.parent_id for caller in seen] == [None, *(id_ for id_, _ in chain[:3])]
        assert (
            seen[1]
            .access_info(Surface.EMAIL)
            .endswith(child_info(Surface.EMAIL, ["allowedEmailOperations"]))
        )
        assert seen[1].access_info(Surface.COLLAB).endswith(child_info(Surface.COLLAB, []))
        assert "child" not in (seen[0].access_info(Surface.EMAIL) or "")


async def test_a_child_reaches_the_connections_that_its_ancestors_reach(database, process, chain):
    async with database.writing() as session:
        await session.exec(
            delete(TokenResource).where(
                col(TokenResource.token_id) == chain[1][0], col(TokenResource.resource_id) == 2
            )
        )

    reached = [[each.id for each in (await process.ask(text)).connections] for _, text in chain]
    assert reached == [[1, 2], [1], [1], [1]]


@pytest.mark.parametrize(
    "end",
    [({"revoked_at": NOW - 1}, "REVOKED"), ({"expires_at": NOW}, "EXPIRED")],
    ids=["revoked", "expired"],
)
@pytest.mark.parametrize("level", range(4))
async def test_the_end_of_a_token_ends_its_descendants(database, process, chain, level, end):
    values, reason = end
    for _, text in chain:
        await process.ask(text)
    await change(database, chain[level][0], **values)

    for number, (_, text) in enumerate(chain):
        if number < level:
            await process.ask(text)
        else:
            assert await process.reason(text) == reason


async def test_a_child_ends_with_its_parent_although_nothing_is_written(database, process, world):
    parent, _ = await stored(database, expires_at=NOW + 1000)
    _, text = await stored(database, parent)
    caller = await process.ask(text)
    assert int(caller.expires_at.timestamp() * 1000) == NOW + 1000

    process.now += 1000
    assert await process.reason(text) == "EXPIRED"


async def test_a_rotated_parent_keeps_its_children(database, process, chain):
    async with database.writing() as session:
        await tokens.rotate(session, await session.get(AccessToken, chain[0][0]), grace_seconds=0)

    process.now = timestamps.now_ms() + 1
    assert await process.reason(chain[0][1]) == "REVOKED"
    await process.ask(chain[1][1])


async def test_a_child_without_its_parent_is_refused(database, process, chain):
    async with database.writing() as session:
        await session.delete(await session.get(AccessToken, chain[0][0]))

    for _, text in chain[1:]:
        assert await process.reason(text) == "REVOKED"


async def test_a_token_with_four_ancestors_is_refused(database, process, chain):
    _, text = await stored(database, chain[3][0])

    assert await process.reason(text) == "REVOKED"


async def test_the_stored_tree_is_revoked_and_shortened(database, chain):
    ids = [id_ for id_, _ in chain]
    async with database.writing() as session:
        root = await session.get(AccessToken, ids[0])
        root.expires_at = NOW + 5
        await session.flush()
        await tokens.shorten_children(session, root)
        await tokens.revoke(session, col(AccessToken.id) == ids[1])
    async with database.reading() as session:
        rows = [await session.get(AccessToken, id_) for id_ in ids]

    assert [row.revoked_at is not None for row in rows] == [False, True, True, True]
    assert [row.expires_at for row in rows] == [NOW + 5] * 4


async def test_calls_count_against_the_quotas_of_all(database, process, world):
    parent, _ = await stored(database, quota={"perMinute": 5})
    child, _ = await stored(database, parent, quota=None)
    _, text = await stored(database, child, quota={"perDay": 9})
    caller = await process.ask(text)

    assert [(id_, quota.per_minute, quota.per_day) for id_, quota in caller.quotas] == [
        (caller.token_id, None, 9),
        (child, None, None),
        (parent, 5, None),
    ]


async def add_rule(database, token_id, action, item):
    async with database.writing() as session:
        session.add(
            CollabRule(
                token_id=token_id,
                rule_type="file_id",
                pattern=f"b!d:{item}",
                action=action,
                source="manual",
                created_at=0,
                updated_at=0,
            )
        )
    await change(database, token_id)


async def test_every_set_of_rules_must_allow(database, process, chain):
    (root, _), (child, text), *_ = chain
    await change(database, root, settings={"collabAllowAllDefault": False})
    await add_rule(database, root, "allow", "A")
    await add_rule(database, root, "allow", "B")
    rules = (await process.ask(text)).rules
    assert [rules.decide(facts).allowed for facts in (IN_A, IN_B)] == [True, True]
    assert rules.allow_by_default is False

    await add_rule(database, child, "block", "B")
    rules = (await process.ask(text)).rules
    assert [rules.decide(facts).allowed for facts in (IN_A, IN_B)] == [True, False]
    assert rules.has_block_rules


async def test_an_automatic_rule_is_added_to_the_ancestors_too(database, process, chain):
    (root, _), (child, text), *_ = chain
    for token_id in (root, child):
        await change(database, token_id, settings={"collabAllowAllDefault": False})
    assert not (await process.ask(text)).rules.decide(IN_A).allowed
    async with database.writing() as session:
        await add_allow_rule(session, child, RuleType.FILE_ID, "b!d:A")

    rules = (await process.ask(text)).rules
    assert [rules.decide(facts).allowed for facts in (IN_A, IN_B)] == [True, False]


async def late_answers(database, readers, rounds):
    """Revoke random levels of random trees; return how many later requests were answered."""
    random, late = Random(20261123), 0
    for _ in range(rounds):
        texts, parent = [], None
        for _level in range(random.randint(2, 4)):
            parent, text = await stored(database, parent)
            texts.append((parent, text))
        for reader in readers:
            for _, text in texts:
                await reader.ask(text)
        revoked = random.randrange(len(texts) - 1)
        await change(database, texts[revoked][0], revoked_at=NOW)
        for reader in readers:
            for _, text in texts[revoked:]:
                try:
                    await reader.ask(text)
                    late += 1
                except Unauthenticated:
                    pass
            for _, text in texts[:revoked]:
                await reader.ask(text)
    return late


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_a_revoked_parent_is_never_late(database, process, another, world):
    """The next request in both processes is refused."""
    assert await late_answers(database, (process, another), REVOCATIONS) == 0
