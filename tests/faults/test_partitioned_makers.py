"""A process that is cut off from PostgreSQL while it makes something stores the rule afterwards."""

import asyncio

import pytest
from network_faults import Link
from postgres_faults import faulty_postgres
from sqlalchemy import text

from gateway.rule_intents import log as rule_intents
from gateway.rule_intents.log import RuleIntentLog
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import AccessToken, Operator
from policy.vocabulary import RuleType
from providers.content.fingerprints import FileFingerprint

KEYS = Keyring(["a secret key of the tests"])
NEW_TOKEN = {"name": "t", "key_id": "k", "digest": b"d" * 32, "settings": {}, "created_at": 0}


@pytest.mark.slow
async def test_a_rule_is_stored_although_another_process_gave_its_intent_up(monkeypatch):
    """Recovery by the other process looked twice, and found nothing yet."""
    monkeypatch.setattr(rule_intents, "RENEWAL_SECONDS", 0.2)
    async with faulty_postgres() as server:
        link = Link(server.port)
        await link.start()
        own = Database.open(server.url.replace(f":{server.port}/", f":{link.port}/"))
        other = Database.open(server.url)
        async with other.writing() as session:
            session.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
            await session.flush()
            session.add(AccessToken(id=1, operator_id="o", **NEW_TOKEN))
        maker = RuleIntentLog(own, KEYS)
        intent = await maker.intend(
            1, RuleType.FILE_ID, FileFingerprint(drive="1", folder="2", name="mine.txt")
        )

        link.hold()
        async with maker.running():
            with pytest.raises(StorageUnavailable):
                await maker.allow(intent, "1:3")
            async with other.writing() as session:
                await (await session.connection()).execute(text("DELETE FROM rule_intents"))
            link.restore()
            async with asyncio.timeout(60):
                while maker._pending_rules:  # noqa: ASYNC110 - it is stored by another task
                    await asyncio.sleep(0.05)

        async with other.reading() as session:
            query = text("SELECT token_id, rule_type, pattern, source FROM collab_rules")
            rules = await (await session.connection()).execute(query)
            assert list(rules) == [(1, "file_id", "1:3", "auto")]
        for database in (own, other):
            await database.close()
        await link.close()
