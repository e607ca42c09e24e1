"""Rows of held writes, as a call that is held stores them; nothing runs what they hold."""

import orjson

from gateway.held_writes import contents
from gateway.store import timestamps
from gateway.store.further_tables import HeldWriteRow
from rest_compat.held.stored_calls import HeldContent, StoredCall

HOUR_MS = 60 * 60 * 1000


def held_row(keyring, write_id="w1", *, subject="s", body="b", files=(), **members):
    """
    Return the row of a message to bo@work.example of token 1, which waits for an hour.

    *files* are the names of its attachments.
    """
    effect = {
        "digest": "d",
        "account": {"email": "ada@example.org", "connectionId": 7},
        "recipients": {"to": [{"email": "bo@work.example"}]},
        "subject": subject,
    }
    attachments = [{"filename": name} for name in files]
    arguments = {"written": {"subject": subject, "body": body, "attachments": attachments}}
    content = HeldContent(
        StoredCall(b"{}", path=b"/api/access/email/messages/send"),
        orjson.dumps(effect),
        orjson.dumps(arguments),
        b"approved",
        b"visibility",
    )
    now = timestamps.now_ms()
    values = {
        "token_id": 1,
        "operator_id": "o",
        "origin": None,
        "operation": "sendEmail",
        "connection_id": 7,
        "state": "held",
        "created_at": now,
        "expires_at": now + HOUR_MS,
        **members,
    }
    sealed = contents.seal(content, write_id, "content", keyring)
    return HeldWriteRow(id=write_id, content=sealed, **values)
