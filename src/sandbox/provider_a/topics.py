"""
Topics and subscriptions of Google Pub/Sub, as far as the notifications of Gmail need them.

A message is delivered again ten seconds after a pull that nobody acknowledged.
"""

import time
from base64 import b64encode
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from secrets import token_urlsafe
from typing import Any

from sandbox.provider_a.errors import GoogleError
from sandbox.storage.database import Database

PROJECT = "sandbox-project"  # of all OAuth clients and service accounts
PUBLISHER = "gmail-api-push@system.gserviceaccount.com"
ACK_SECONDS = 10.0
_TABLES = (
    """CREATE TABLE IF NOT EXISTS pubsub_topic (
    name TEXT PRIMARY KEY, publisher TEXT NOT NULL) STRICT""",
    """CREATE TABLE IF NOT EXISTS pubsub_subscription (
    name TEXT PRIMARY KEY, topic TEXT NOT NULL, kind TEXT NOT NULL, consumer TEXT NOT NULL)
    STRICT""",
    """CREATE TABLE IF NOT EXISTS pubsub_message (
    id INTEGER PRIMARY KEY, subscription TEXT NOT NULL, data TEXT NOT NULL, at REAL NOT NULL,
    leased_until REAL NOT NULL, ack TEXT NOT NULL) STRICT""",
)


def _not_authorized() -> GoogleError:
    return GoogleError(403, "User not authorized to perform this action.", "forbidden")


class Topics:
    """Topics and subscriptions."""

    def __init__(self, db: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._db, self._clock = db, clock
        db.define(*_TABLES)

    def create(
        self,
        topic: str,
        subscription: str,
        *,
        publisher: str = PUBLISHER,
        consumer: str,
        kind: str = "pull",
    ) -> None:
        """
        Make or replace a topic with a subscription, both by their names in the project.

        *publisher* and *consumer* are the accounts with the right to; "": nobody.
        """
        name = f"projects/{PROJECT}/topics/{topic}"
        self._db.run("INSERT OR REPLACE INTO pubsub_topic VALUES (?, ?)", name, publisher)
        self._db.run(
            "INSERT OR REPLACE INTO pubsub_subscription VALUES (?, ?, ?, ?)",
            f"projects/{PROJECT}/subscriptions/{subscription}",
            name,
            kind,
            consumer,
        )

    def publish(self, topic: str, account: str, data: bytes) -> None:
        """
        Publish as *account*.

        Raises:
            GoogleError: 404 without the topic, 403 without the right.
        """
        row = self._db.row("SELECT publisher FROM pubsub_topic WHERE name = ?", topic)
        if row is None:
            name = topic.rsplit("/", 1)[-1]
            raise GoogleError(404, f"Resource not found (resource={name}).", "notFound")
        if row[0] != account:
            raise _not_authorized()
        for (subscription,) in self._db.rows(
            "SELECT name FROM pubsub_subscription WHERE topic = ?", topic
        ):
            self._db.run(
                "INSERT INTO pubsub_message (subscription, data, at, leased_until, ack)"
                " VALUES (?, ?, ?, 0, '')",
                subscription,
                b64encode(data).decode(),
                self._clock(),
            )

    def waiting(self) -> int:
        """Return how many messages nobody has acknowledged."""
        row = self._db.row("SELECT COUNT(*) FROM pubsub_message")
        return int(row[0] or 0) if row else 0

    def check(self, subscription: str, account: str) -> None:
        """
        Check that *account* may pull.

        Raises:
            GoogleError: 404 without the subscription, 403 without the right, 400 if it pushes.
        """
        row = self._db.row(
            "SELECT kind, consumer FROM pubsub_subscription WHERE name = ?", subscription
        )
        if row is None:
            name = subscription.rsplit("/", 1)[-1]
            raise GoogleError(404, f"Resource not found (resource={name}).", "notFound")
        if row[1] != account:
            raise _not_authorized()
        if row[0] != "pull":
            message = "This method is not supported for this subscription type."
            raise GoogleError(400, message, "failedPrecondition")

    def take(self, subscription: str, limit: int) -> list[dict[str, Any]]:
        """Lease messages and return them as they are received."""
        now, received = self._clock(), []
        rows = self._db.rows(
            "SELECT id, data, at FROM pubsub_message WHERE subscription = ? AND leased_until <= ?"
            " ORDER BY id LIMIT ?",
            subscription,
            now,
            limit,
        )
        for number, data, at in rows:
            ack = token_urlsafe(120)
            self._db.run(
                "UPDATE pubsub_message SET leased_until = ?, ack = ? WHERE id = ?",
                now + ACK_SECONDS,
                ack,
                number,
            )
            published = datetime.fromtimestamp(float(at or 0), UTC)
            message = {
                "data": data,
                "messageId": str(number),
                "publishTime": published.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            }
            received.append({"ackId": ack, "message": message})
        return received

    def acknowledge(self, acks: Iterable[str]) -> None:
        """Deliver messages no more; ids that are too old are ignored."""
        for ack in acks:
            self._db.run("DELETE FROM pubsub_message WHERE ack = ? AND ack <> ''", ack)
