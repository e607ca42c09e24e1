"""A rule that the gateway adds costs the next request that rule, not all rules of the token."""

import threading

import pytest
from counting_reader import CountingReader

from gateway.auth import authenticator, token_format
from gateway.auth.authenticator import Authenticator
from gateway.auth.token_lookup import open_row_reader
from gateway.operations import rules
from gateway.operations.rules import NewRule
from gateway.rule_intents.log import add_allow_rule
from gateway.store.tables import AccessToken, CollabRule
from policy import grants
from policy.vocabulary import RuleType

TEXT = token_format.generate()


@pytest.fixture
async def token(database):
    """A token in block-all mode with 50 rules of different kinds."""
    settings = grants.validate({"collabAccessEnabled": True, "collabAllowAllDefault": False})
    async with database.writing() as session:
        session.add(
            AccessToken(
                id=1,
                name="t",
                key_id=TEXT.key_id,
                digest=TEXT.digest,
                operator_id="o",
                settings=settings,
                created_at=0,
            )
        )
        await session.flush()
        for number in range(50):
            session.add(
                CollabRule(
                    token_id=1,
                    rule_type=("file_id", "folder")[number % 2],
                    pattern=f"b!d{number}:{number}",
                    action=("allow", "block")[number % 3 == 0],
                    source="manual",
                    created_at=0,
                    updated_at=0,
                )
            )


@pytest.fixture
def reader(database):
    opened = open_row_reader(database)
    yield CountingReader(opened)
    opened.close()


def process(reader):
    return Authenticator(reader, base_url=lambda kind, provider: "")


async def rules_of(process):
    header = [(b"authorization", f"Bearer {TEXT.text}".encode())]
    return (await process.authenticate(header)).rules


async def test_an_automatic_rule_is_added_to_the_compiled_ones(database, token, reader):
    running = process(reader)
    await rules_of(running)
    assert reader.rules_read == 50

    for number in range(3):
        async with database.writing() as session:
            await add_allow_rule(session, 1, RuleType.LIST_ITEM_ID.value, f"list:{number}")
        extended = await rules_of(running)
        assert reader.rules_read == 51 + number
        assert extended.rule_types == {RuleType.FILE_ID, RuleType.FOLDER, RuleType.LIST_ITEM_ID}
    assert extended == await rules_of(process(reader))


async def test_any_other_change_compiles_all_rules(database, token, reader):
    running = process(reader)
    await rules_of(running)
    for change in (
        lambda session: rules.add(
            session, 1, NewRule(ruleType="file_id", pattern="b!x:1", action="block")
        ),
        lambda session: rules.remove(session, 1, 7),
    ):
        async with database.writing() as session:
            await add_allow_rule(session, 1, RuleType.FILE_ID.value, f"b!y:{reader.rules_read}")
            await change(session)
        assert await rules_of(running) == await rules_of(process(reader))


async def test_a_token_without_rules_gets_its_first_one(database, token, reader):
    async with database.writing() as session:
        assert [batch async for batch in rules.replace(session, 1, [])] == []
    running = process(reader)
    await rules_of(running)
    async with database.writing() as session:
        await add_allow_rule(session, 1, RuleType.FILE_ID.value, "b!y:1")

    assert (await rules_of(running)).rule_types == {RuleType.FILE_ID}


async def test_unreadable_rules_are_never_extended(database, token, reader):
    async with database.writing() as session:
        session.add(
            CollabRule(
                token_id=1,
                rule_type="of a later version",
                pattern="p",
                action="block",
                source="manual",
                created_at=0,
                updated_at=0,
            )
        )
    running = process(reader)
    before = await rules_of(running)
    async with database.writing() as session:
        await add_allow_rule(session, 1, RuleType.FILE_ID.value, "b!y:1")

    assert await rules_of(running) == before


async def test_many_rules_are_compiled_in_a_thread(database, token, reader, monkeypatch):
    threads = []
    compile_rules = authenticator.compile_rules

    def recorded(*arguments):
        threads.append(threading.get_ident())
        return compile_rules(*arguments)

    monkeypatch.setattr(authenticator, "compile_rules", recorded)
    in_loop = await rules_of(process(reader))
    monkeypatch.setattr(authenticator, "_THREAD_RULES", 49)
    in_thread = await rules_of(process(reader))

    assert in_loop == in_thread
    assert threads[0] == threading.get_ident() != threads[1]
