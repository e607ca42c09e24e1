"""
A token with very many rules on PostgreSQL makes nobody else wait.

Storing a large set by the management API: `tests/security/test_bounded_requests.py`; a decision:
`tests/policy/test_rules_sizes.py`.
"""

import pytest
from counting_reader import CountingReader
from database_servers import postgres_server
from python_calls import MOST_CALLS_AT_ONCE, calls_per_step
from sqlalchemy import text

from gateway.auth import token_format
from gateway.auth.authenticator import Authenticator
from gateway.auth.token_lookup import open_row_reader
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
INSERT_RULES = text("""
INSERT INTO collab_rules
    (token_id, rule_type, pattern, action, source, created_at, updated_at)
SELECT 1, 'file_id', 'b!d:' || n, 'block', 'manual', 0, 0 FROM generate_series(1, :rules) n
""")


@pytest.fixture
async def database():
    """A PostgreSQL with a token that has many rules."""
    with postgres_server() as server:
        database = Database.open(server.url)
        await database.migrate()
        settings = grants.validate({"collabAccessEnabled": True, "collabAllowAllDefault": False})
        members = {"key_id": TOKEN.key_id, "digest": TOKEN.digest, "settings": settings}
        async with database.writing() as session:
            session.add(AccessToken(id=1, name="t", operator_id="o", created_at=0, **members))
            await session.flush()
            await session.exec(INSERT_RULES, params={"rules": RULES})
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
