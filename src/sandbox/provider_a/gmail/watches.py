"""
The endpoints ``watch`` and ``stop``, and the notifications that follow.

See docs/spec/upstream/gmail.md#notifications. A mailbox has one watch, of one topic.
"""

import json
from typing import Any

from sandbox.http import Request
from sandbox.mail.ids import PROVIDER_A
from sandbox.provider_a.errors import GoogleError, require_scope
from sandbox.provider_a.topics import PROJECT, PUBLISHER, Topics
from sandbox.state import SandboxState

LIFETIME_SECONDS = 7 * 86_400
_READ = ("gmail.readonly", "gmail.modify", "gmail.metadata")
_TABLE = """CREATE TABLE IF NOT EXISTS gmail_watch (
    address TEXT PRIMARY KEY, topic TEXT NOT NULL, expires REAL NOT NULL, told INTEGER NOT NULL)
    STRICT"""
_ONE_CLIENT = (
    "Only one user push notification client allowed per developer (call /stop then try again)"
)


class Watches:
    """The endpoints return JSON content."""

    def __init__(self, state: SandboxState) -> None:
        self._mails, self._db, self._clock = state.mails, state.database, state.clock
        self._topics = Topics(state.database, clock=state.clock)
        self._db.define(_TABLE)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of the watches that have not ended."""
        rows = self._db.rows("SELECT topic FROM gmail_watch WHERE expires > ?", self._clock())
        return tuple(str(topic) for (topic,) in rows)

    def watch(self, request: Request) -> Any:
        """``POST watch``: begin, or go on for seven days; a notification is sent at once."""
        require_scope(request.grant, *_READ)
        topic = _topic(request)
        if any(other != topic for other in self.topics):
            raise GoogleError(400, _ONE_CLIENT, "failedPrecondition")
        try:
            self._publish(topic)
        except GoogleError as error:
            message = f"Error sending test message to Cloud PubSub {topic} : {error.message}"
            raise GoogleError(error.status, message, error.reason) from None
        last, expires = self._mails.last_change(), self._clock() + LIFETIME_SECONDS
        row = self._address, topic, expires, last
        self._db.run("INSERT OR REPLACE INTO gmail_watch VALUES (?, ?, ?, ?)", *row)
        return {"historyId": str(last), "expiration": str(round(expires * 1000))}

    def stop(self, request: Request) -> None:
        """``POST stop``: end the watch, if there is one."""
        require_scope(request.grant, *_READ)
        self._db.run("DELETE FROM gmail_watch")

    def tell(self) -> None:
        """Publish what has changed since it was told; what cannot be published is lost."""
        for topic, since in self._db.rows(
            "SELECT topic, told FROM gmail_watch WHERE expires > ?", self._clock()
        ):
            last = self._mails.last_change()
            if last <= int(since or 0) or not self._has_changed(int(since or 0)):
                continue
            self._db.run("UPDATE gmail_watch SET told = ?", last)
            try:
                self._publish(str(topic))
            except GoogleError:
                continue

    def _has_changed(self, since: int) -> bool:
        if self._mails.history.since(PROVIDER_A, since):
            return True
        return any(mail.change > since for mail in self._mails.all(PROVIDER_A))

    @property
    def _address(self) -> str:
        return self._mails.account(PROVIDER_A).email

    def _publish(self, topic: str) -> None:
        content = {"emailAddress": self._address, "historyId": self._mails.last_change()}
        self._topics.publish(topic, PUBLISHER, json.dumps(content).encode())


def _topic(request: Request) -> str:
    try:
        body = request.json()
    except ValueError:
        raise GoogleError(400, "Parse Error", "parseError") from None
    if not isinstance(body, dict) or body.keys() != {"topicName"}:  # labels are not imitated
        raise GoogleError(400, "Invalid JSON payload received.", "invalid")
    topic = body["topicName"]
    if not isinstance(topic, str) or not topic.startswith(f"projects/{PROJECT}/topics/"):
        message = f"Invalid topicName does not match projects/{PROJECT}/topics/*"
        raise GoogleError(400, message, "invalidArgument")
    return topic
