"""Print messages, generated ones and mixtures of real ones, as this project reads them: JSON lines."""

import json
import os
import re
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

import structures
from parts import digest
from real_shaped import real_shaped, samples

from providers.connectors.imap import mapping
from providers.mail import addresses, original_message, reply_headers
from providers.records.mail import Participant

GENERATED = int(os.environ.get("MAIL_MESSAGES", "4000"))
REAL_SHAPED = int(os.environ.get("MAIL_REAL_SHAPED", "1000"))
SEED = os.environ.get("MAIL_SEED", "peers")
STANDARD_NAMES = {"attachment", "message.eml", "invite.ics"}  # of files without a name


def main() -> None:
    """Print a line for each message."""
    for number, message in enumerate(messages()):
        line = {
            "number": number,
            "raw": b64encode(message["raw"]).decode(),
            "ours": reading(message["raw"]),
            "values": message.get("values"),
            "forms": message["forms"],
        }
        print(json.dumps(line))


def messages() -> Iterator[Mapping[str, object]]:
    """Yield the real messages as they are, the generated ones, and then mixtures of real ones."""
    for name, raw in samples():
        yield {"raw": raw, "forms": {"all": [name, name, "as it is"]}}
    for number in range(GENERATED):
        yield structures.message(Random(f"{SEED}-{number}"))
    for number in range(REAL_SHAPED):
        yield real_shaped(Random(f"{SEED}-real-{number}"))


def reading(raw: bytes) -> dict[str, object]:
    """Return what this project reads in a message."""
    email, files = original_message.parse(raw, "IMAP")
    headers = mapping.parse_headers(re.split(rb"\r?\n\r?\n", raw, maxsplit=1)[0])
    return {
        "from": people([email.from_] if email.from_ else []),
        "to": people(email.to),
        "cc": people(email.cc),
        "reply-to": people(addresses.parse(headers.get("reply-to", ""))),
        "subject": email.subject,
        "date": email.sent_at and email.sent_at.timestamp(),
        "references": reply_headers.message_ids(headers.get("references", "")),
        "type": email.body_type,
        "body": email.body,
        "files": [
            [
                None if file.name in STANDARD_NAMES else file.name,
                file.media_type,
                digest(file.content),
                file.is_inline,
                file.content_id,
            ]
            for file in files
        ],
    }


def people(participants: Iterable[Participant]) -> list[list[str | None]]:
    """Return mailboxes as JSON."""
    return [[one.email, one.name] for one in participants]


main()
