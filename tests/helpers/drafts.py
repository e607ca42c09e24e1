"""Drafts as a person's program leaves them in the mailboxes of the tests' world."""

from world import MAILBOXES, ME_A, ME_B, PREFIXES

from sandbox.mail.store import NEW_THREAD


def raw_draft(provider, *, subject="Offer", body="<p>We offer.</p>"):
    """A message with hidden recipients and a file."""
    sender = {"PROVIDER_A": ME_A, "PROVIDER_B": ME_B}[provider]
    return (
        f"From: {sender}\r\nTo: Bo <bo@work.example>\r\nCc: dan@work.example\r\n"
        f"Bcc: eve@work.example\r\nSubject: {subject}\r\nMessage-ID: <{subject}@world.example>\r\n"
        "Date: Thu, 19 Nov 2026 09:00:00 +0000\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n'
        f"Content-Type: text/html; charset=utf-8\r\n\r\n{body}\r\n--b\r\n"
        'Content-Type: application/pdf\r\nContent-Disposition: attachment; filename="plan.pdf"\r\n'
        "Content-Transfer-Encoding: base64\r\n\r\nJVBERg==\r\n--b--\r\n"
    ).encode()


def leave(world, provider, raw=None, **parts):
    """Leave a draft in a mailbox, as the person does; return what is stored."""
    return world.sandbox.state.mails.add(
        MAILBOXES[provider],
        raw or raw_draft(provider, **parts),
        folder="drafts",
        is_read=True,
        thread_id=NEW_THREAD,
    )


def draft_id(provider, stored):
    """The API's id of a draft."""
    native = stored.immutable_id
    if PREFIXES[provider] == "providerA":
        native = f"r{int(native, 16)}"
    return f"{PREFIXES[provider]}:{native}"
