"""
Previews of what Graph takes from an original (`providers.write_previews`).

Graph composes subjects itself. Where somebody asks for a preview, the draft gets the subject that
the preview shows, whatever Graph chose.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from providers.mail.reply_recipients import RECIPIENT_FIELDS
from providers.ports.mail import Forward
from providers.records.mail import Email, Participant
from providers.write_previews import Recipients, Subject, add_attachments, current_preview, describe


def taken_by_reply() -> tuple[str, ...]:
    """Return the members of the original to read for a preview, besides those of its people."""
    preview = current_preview()
    return () if preview is None or "subject" in preview.hidden else ("subject",)


def describe_reply(
    to: Sequence[Participant], cc: Sequence[Participant], subject: str | None
) -> dict[str, str]:
    """Describe a reply to *to* and *cc*; *subject* is that of the original, if it was read."""
    describe(recipients=Recipients(to=tuple(to), cc=tuple(cc), derived_from=RECIPIENT_FIELDS))
    return _subject_of_draft("RE:", subject) if taken_by_reply() else {}


def taken_by_forward(forward: Forward) -> frozenset[str]:
    """Return the attributes of the original to read for a preview; empty without one."""
    preview = current_preview()
    if preview is None:
        return frozenset()
    return frozenset({"subject", "attachments"} - preview.hidden - forward.hidden)


def describe_forward(original: Email, wanted: AbstractSet[str]) -> dict[str, str]:
    """Describe the *wanted* attributes of the original; return members of the draft."""
    add_attachments((file.name, file.size) for file in original.attachments or ())
    return _subject_of_draft("FW:", original.subject) if "subject" in wanted else {}


def _subject_of_draft(prefix: str, subject: str | None) -> dict[str, str]:
    """Describe the subject of a reply or forward; return it as a member of the draft."""
    text = subject or ""
    if not text.lower().startswith(prefix.lower()):
        text = f"{prefix} {text}"
    describe(subject=Subject(text=text, derived=True))
    return {"subject": text}
