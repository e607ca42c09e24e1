"""
A token with very many rules makes nobody else wait, when one is added and when one is removed.

Storing a large set by the management API: `tests/security/test_bounded_requests.py`; a decision:
`tests/policy/test_rules_sizes.py`.
"""

from contextlib import nullcontext

import loop_stopwatch
import pytest
from counting_reader import CountingReader
from database_servers import postgres_server
from gateway_processes import tell
from loop_stopwatch import TRIES
from python_calls import MOST_CALLS_AT_ONCE, calls_per_step
from sqlalchemy import Integer, bindparam, text

from gateway.auth import token_format
from gateway.auth.authenticator import Authenticator
from gateway.auth.token_lookup import open_row_reader
from gateway.operations import rules
from gateway.rule_intents.log import add_allow_rule
from gateway.store.database import Database
from gateway.store.tables import AccessToken
from policy import grants
from policy.rule_facts import Facts
from policy.vocabulary import RuleType

pytestmark = pytest.mark.slow

RULES = 100_000
TOKEN = token_format.generate()
HEADERS = [(b"authorization", f"Bearer {TOKEN.text}".encode())]
SLICE = 2500  # rules of one statement, which may take 3 seconds
REMOVED = 77
INSERT_RULES = text("""
INSERT INTO collab_rules
    (token_id, rule_type, pattern, action, source, created_at, updated_at)
WITH RECURSIVE numbers (n) AS (SELECT :first UNION ALL SELECT n + 1 FROM numbers WHERE n < :last)
SELECT 1, 'file_id', 'b!d:' || n, 'block', 'manual', 0, 0 FROM numbers
""").bindparams(bindparam("first", type_=Integer), bindparam("last", type_=Integer))


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request, tmp_path):
    """A database with a token that has many rules."""
    with postgres_server() if request.param == "postgresql" else nullcontext() as server:
        database = Database.open(
            server.url if server else f"sqlite+aiosqlite:///{tmp_path / 'gateway.db'}"
        )
        await database.migrate()
        settings = grants.validate({"collabAccessEnabled": True, "collabAllowAllDefault": False})
        members = {"key_id": TOKEN.key_id, "digest": TOKEN.digest, "settings": settings}
        async with database.writing() as session:
            session.add(AccessToken(id=1, name="t", operator_id="o", created_at=0, **members))
        for first in range(1, RULES, SLICE):
            async with database.writing() as session:
                last = first + SLICE - 1
                await session.exec(INSERT_RULES, params={"first": first, "last": last})
        yield database
        await database.close()


async def test_rules_are_compiled_beside_the_loop_and_extended_by_one(database):
    reader = CountingReader(open_row_reader(database))
    authenticator = Authenticator(reader, base_url=lambda kind, provider: "")

    with calls_per_step() as steps:
        caller = await authenticator.authenticate(HEADERS)
    assert caller.rules.blocking_rule(Facts(item=("b!d", str(RULES)))) == RULES
    assert reader.rules_read == RULES
    assert max(steps) <= MOST_CALLS_AT_ONCE

    async with database.writing() as session:
        await add_allow_rule(session, 1, RuleType.FILE_ID, "b!d:new")
    with calls_per_step() as steps:
        caller = await authenticator.authenticate(HEADERS)
    assert caller.rules.decide(Facts(item=("b!d", "new"))).allowed is True
    assert reader.rules_read == RULES + 1
    assert max(steps) <= MOST_CALLS_AT_ONCE
    reader.close()


async def test_no_turn_of_the_loop_is_long_when_a_rule_is_removed(database):
    """The rules are read anew: the reading is one call of a driver, which counts in seconds."""
    reader = open_row_reader(database)
    authenticator = Authenticator(reader, base_url=lambda kind, provider: "")
    await authenticator.authenticate(HEADERS)
    turns = []
    for removed in range(REMOVED, REMOVED + TRIES):
        with loop_stopwatch.running() as watch:
            async with database.writing() as session:
                await rules.remove(session, 1, removed)
            caller = await authenticator.authenticate(HEADERS)
        turns.append(watch.longest)

        assert caller.rules.blocking_rule(Facts(item=("b!d", str(removed)))) is None
        assert caller.rules.blocking_rule(Facts(item=("b!d", str(RULES)))) == RULES
    tell(longest_turns=[round(seconds, 4) for seconds in turns])
    assert min(turns) <= loop_stopwatch.MOST_SECONDS / 2
    reader.close()
