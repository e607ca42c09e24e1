"""`secret rotate`: everything that is sealed, in batches, again and again until all is done."""

import asyncio
import json
import threading

import pytest
from sqlmodel import select

from gateway.audit import provider_errors
from gateway.connections import rows as connection_rows
from gateway.rule_intents.log import seal_context
from gateway.secrets.keyring import Keyring, column_context
from gateway.store import sealed_columns
from gateway.store.database import Database
from gateway.store.further_tables import HeldWriteRow, WebhookTarget
from gateway.store.tables import (
    AccessToken,
    ConnectionRow,
    IdempotencyRow,
    OAuthAttempt,
    Operator,
    ProviderErrorRow,
    Resource,
    RuleIntent,
)

OLD, NEW = "the old key of the tests", "the new key of the tests"
on_both = pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]
)


def sealed(key, *where):
    return Keyring([key]).encrypt(b"secret", context=column_context(*where))


def connection(number, key):
    return ConnectionRow(
        resource_id=1,
        operator_id="o",
        kind="email",
        provider="PROVIDER_A",
        account_email="o@example.org",
        granted_scopes=[],
        can_write=False,
        status="active",
        selected_site_ids=[],
        credentials=sealed(key, "connections", number, "credentials"),
        created_at=0,
        updated_at=0,
    )


def token():
    return AccessToken(
        name="t", key_id="k", digest=b"d" * 32, operator_id="o", settings={}, created_at=0
    )


def delivery(key):
    return IdempotencyRow(
        token_id=1,
        method="POST",
        path="/x",
        key="k",
        fingerprint=b"f" * 32,
        state="done",
        seed="s",
        attempt=1,
        maybe_sent=False,
        lease_until=0,
        outcome=sealed(key, "deliveries", 1, "outcome"),
        started_at=0,
    )


def held_write(write_id, key):
    return HeldWriteRow(
        id=write_id,
        token_id=1,
        operator_id="o",
        operation="sendEmail",
        state="done",
        content=sealed(key, "held_writes", write_id, "content"),
        outcome=sealed(OLD, "held_writes", write_id, "outcome"),
        created_at=0,
        expires_at=0,
    )


def webhook_target(target_id, key):
    return WebhookTarget(
        id=target_id,
        owner_kind="test",
        owner_id="1",
        url="https://hooks.example/",
        secrets=sealed(key, "webhook_targets", target_id, "secrets"),
        state="active",
        failures=0,
        created_at=0,
    )


@pytest.fixture
def three(rows):
    """Three connections under the old key, and one without credentials."""
    rows.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
    rows.add(Resource(name="r", created_at=0))
    rows.add(*(connection(number, OLD) for number in (1, 2, 3)))
    bare = connection(4, OLD)
    bare.credentials = None
    rows.add(bare)
    return rows


def read_json(result, code=0):
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout)


@on_both
def test_rotate_reseals_every_column(run, environment, three):
    three.add(token(), delivery(OLD), held_write("w", OLD), webhook_target("t", OLD))
    three.add(
        OAuthAttempt(
            id="a",
            connection_id=1,
            secret=sealed(OLD, "oauth_attempts", "a", "secret"),
            expires_at=9,
        )
    )
    three.add(
        RuleIntent(
            token_id=1,
            rule_type="file_id",
            place="d:f",
            created_at=0,
            trace=Keyring([OLD]).seal(b"trace", context=seal_context(1)),
            lease_until=0,
            look_at=0,
        )
    )
    three.add(
        ProviderErrorRow(
            request_id="r",
            at=0,
            provider="COLLAB",
            code="PROVIDER_ERROR",
            reason=Keyring([OLD]).seal(b"reason", context=provider_errors.seal_context("r")),
        )
    )
    environment.setenv("AGW_SECRET_KEYS", f"{NEW},{OLD}")

    assert read_json(run("secret", "rotate", "--json")) == {
        "connections": {"sealed": 3, "unreadable": []},
        "decisions": {"sealed": 0, "unreadable": []},
        "deliveries": {"sealed": 1, "unreadable": []},
        "held_writes": {"sealed": 2, "unreadable": []},
        "oauth_attempts": {"sealed": 1, "unreadable": []},
        "provider_errors": {"sealed": 1, "unreadable": []},
        "rule_intents": {"sealed": 1, "unreadable": []},
        "webhook_targets": {"sealed": 1, "unreadable": []},
    }
    new = Keyring([NEW])
    for number, ciphertext in three.all(select(ConnectionRow.id, ConnectionRow.credentials)):
        if number < 4:
            assert (
                new.decrypt(
                    ciphertext, context=column_context("connections", number, "credentials")
                )
                == b"secret"
            )
    [outcome] = three.all(select(IdempotencyRow.outcome))
    assert new.decrypt(outcome, context=column_context("deliveries", 1, "outcome")) == b"secret"
    written = select(HeldWriteRow.content, HeldWriteRow.outcome).where(HeldWriteRow.id == "w")
    [contents] = three.all(written)
    for column, ciphertext in zip(("content", "outcome"), contents, strict=True):
        context = column_context("held_writes", "w", column)
        assert new.decrypt(ciphertext, context=context) == b"secret"
    [sealed_secrets] = three.all(select(WebhookTarget.secrets))
    context = column_context("webhook_targets", "t", "secrets")
    assert new.decrypt(sealed_secrets, context=context) == b"secret"
    [secret] = three.all(select(OAuthAttempt.secret))
    assert new.decrypt(secret, context=column_context("oauth_attempts", "a", "secret")) == b"secret"
    [trace] = three.all(select(RuleIntent.trace))
    assert new.unseal(trace, context=seal_context(1)) == b"trace"
    [reason] = three.all(select(ProviderErrorRow.reason))
    assert new.unseal(reason, context=provider_errors.seal_context("r")) == b"reason"
    environment.setenv("AGW_SECRET_KEYS", NEW)
    again = run("secret", "rotate")
    assert (again.exit_code, again.stderr) == (0, "0 credentials encrypted again.\n")


def test_both_columns_of_a_table_are_in_the_report(run, environment, three):
    three.add(token(), held_write("w", "a key that nobody has"))
    environment.setenv("AGW_SECRET_KEYS", f"{NEW},{OLD}")
    done = run("secret", "rotate", "--json")

    assert read_json(done, code=1)["held_writes"] == {"sealed": 1, "unreadable": ["w"]}


def test_unreadable_rows_are_named_and_the_others_resealed(run, environment, three):
    three.add(connection(5, "a key that nobody has"))
    environment.setenv("AGW_SECRET_KEYS", f"{NEW},{OLD}")
    done = run("secret", "rotate", "--json")

    assert read_json(done, code=1)["connections"] == {"sealed": 3, "unreadable": ["5"]}
    assert done.stderr == "Sealed with a key that is not in AGW_SECRET_KEYS: connections 5\n"


async def test_an_interrupted_rotation_is_resumed(store, three):
    database, ring = Database.open(store), Keyring([NEW, OLD])
    heard = []

    def cut_off(done, total):
        heard.append((done, total))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await sealed_columns.rotate_column(
            database, ring, sealed_columns.CREDENTIALS, batch=2, progress=cut_off
        )
    assert heard == [(2, 3)]

    heard.clear()
    done = await sealed_columns.rotate_column(
        database,
        ring,
        sealed_columns.CREDENTIALS,
        batch=2,
        progress=lambda *progress: heard.append(progress),
    )
    assert (done.changed, heard) == (1, [(2, 3), (3, 3)])
    await database.close()


class Interrupting(Keyring):
    """Has somebody else do something while a value is being sealed again."""

    def __init__(self, secrets, other):
        super().__init__(secrets)
        self._other = other

    def rotate(self, sealed, *, context):
        self._other.start()
        self._other.join(0.5)  # who must wait for the rotation does not end
        return super().rotate(sealed, context=context)


@pytest.mark.slow
@on_both
def test_credentials_stored_during_a_rotation_are_kept(url, rows):
    """A refresh stores what it got while the rotation runs: it is not undone."""
    rows.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
    rows.add(Resource(name="r", created_at=0))
    row = connection(1, OLD)
    row.id = 1
    connection_rows.seal(row, {"accessToken": "before", "version": 0}, Keyring([OLD]))
    rows.add(row)
    both = Keyring([OLD, NEW])

    async def refresh():
        database = Database.open(url)
        renewed = {"accessToken": "renewed"}
        yes = await connection_rows.store_credentials(
            database, 1, renewed, both, expected_version=0
        )
        await database.close()
        return yes

    async def rotate(ring):
        database = Database.open(url)
        done = await sealed_columns.rotate_column(database, ring, sealed_columns.CREDENTIALS)
        await database.close()
        return done.changed

    stored = []
    other = threading.Thread(target=lambda: stored.append(asyncio.run(refresh())))
    changed = asyncio.run(rotate(Interrupting([NEW, OLD], other)))
    other.join()

    assert (changed, stored) == (1, [True])
    [connection_row] = rows.all(select(ConnectionRow))
    assert connection_rows.unseal(connection_row, both)["accessToken"] == "renewed"


def test_a_new_key_is_written_and_stored_nowhere(run, environment, tmp_path):
    made = read_json(run("secret", "new", "--json"))

    assert len(made["secret"]) == 43
    assert list(tmp_path.iterdir()) == []
