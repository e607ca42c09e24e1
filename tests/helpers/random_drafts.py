"""Random drafts as programs write them, and the comparison of a changed one with its original."""

import os
from email import message_from_bytes, policy
from email.message import EmailMessage

from providers.ports.drafts import DraftChange
from providers.ports.mail import OutgoingFile
from providers.records.mail import Participant

SEED = int(os.environ.get("DRAFT_SEED", "61"))
WORDS = ("lease", "Grüße", "=?utf-8?q?x?=", "見積", "offer; 2027", "a" * 120, "<b>&amp;</b>")
CHANGES = {
    "to": DraftChange(to=(Participant(email="new@work.example", name="Néw"),)),
    "cc": DraftChange(cc=()),
    "bcc": DraftChange(bcc=(Participant(email="hidden@work.example"),)),
    "subject": DraftChange(subject="Neue Überschrift"),
    "importance": DraftChange(importance="high"),
    "body": DraftChange(body="<p>Changed</p>"),
    "files": DraftChange(
        files=(OutgoingFile(name="new.txt", media_type="text/plain", content=b"new"),)
    ),
}


AS_ASKED = (None, "high", ("high", "1"))  # members of drafts that a change may leave as they are


def random_draft(choose):
    """A draft as programs write them: alternatives, pictures, files, headers of their own."""
    message = EmailMessage(policy=policy.SMTP)
    if choose.random() < 0.9:
        message["To"] = ", ".join(f"p{choose.randrange(99)}@work.example" for _ in range(2))
    if choose.random() < 0.5:
        message["Cc"] = f"Zoë Ångström <z{choose.randrange(9)}@work.example>"
    if choose.random() < 0.5:
        message["Bcc"] = f"b{choose.randrange(9)}@work.example"
    message["Subject"] = choose.choice(WORDS)
    if choose.random() < 0.6:
        message["In-Reply-To"] = f"<o{choose.randrange(9)}@world.example>"
        message["References"] = " ".join(f"<r{number}@world.example>" for number in range(9))
    if choose.random() < 0.3:
        message["Importance"] = choose.choice(["low", "high"])
        message["X-Priority"] = choose.choice(["1", "5"])
    message["X-Mailer"] = choose.choice(WORDS)
    message["Message-ID"] = f"<{choose.getrandbits(64)}@world.example>"
    text = " ".join(choose.choices(WORDS, k=9))
    message.set_content(text, subtype=choose.choice(["plain", "html"]))
    if message.get_content_subtype() == "plain" and choose.random() < 0.7:
        message.add_alternative(f"<p>{text}</p>", subtype="html")
        if choose.random() < 0.5:
            message.get_payload()[1].add_related(b"GIF89a", "image", "gif", cid="<pic@x.example>")
    for number in range(choose.randrange(3)):
        content = bytes(choose.randrange(256) for _ in range(choose.randrange(200)))
        message.add_attachment(content, "application", "pdf", filename=f"f{number}ü.pdf")
    raw = message.as_bytes()
    return raw.replace(b"\r\n", b"\n") if choose.random() < 0.3 else raw


def members(raw):
    """Members that can be changed, and all else in order, as the standard library reads them."""
    parsed = message_from_bytes(raw, policy=policy.compat32)
    read = {name: parsed.get(name) for name in ("to", "cc", "bcc", "subject")}
    read["importance"] = (parsed.get("importance"), parsed.get("x-priority"))
    named = {*read, "x-priority", "mime-version", "content-type", "content-transfer-encoding"}
    read["others"] = [(name, value) for name, value in parsed.items() if name.lower() not in named]
    leaves = [part for part in parsed.walk() if not part.is_multipart()]
    texts = [
        part for part in leaves if part.get_content_maintype() == "text" and not _is_file(part)
    ]
    read["body"] = [(part.get_content_type(), part.get_payload(decode=True)) for part in texts]
    read["files"] = [
        (part.items(), part.get_payload(decode=True)) for part in leaves if part not in texts
    ]
    return read


def _is_file(part):
    return part.get_filename() is not None


def values(raw):
    """
    What Exchange keeps of a draft, which is values and not bytes: decoded, and one text of several.

    The members are those of `members`.
    """
    parsed = message_from_bytes(raw, policy=policy.default)
    read = {
        name: [(each.display_name, each.addr_spec) for each in parsed[name].addresses]
        if parsed[name]
        else None
        for name in ("to", "cc", "bcc")
    }
    read["subject"] = str(parsed["subject"])
    read["importance"] = str(parsed["importance"] or "normal").lower()
    named = {*read, "x-priority", "mime-version", "content-type", "content-transfer-encoding"}
    read["others"] = sorted(
        (name.lower(), " ".join(str(value).split()))
        for name, value in parsed.items()
        if name.lower() not in named
    )
    body = parsed.get_body(("html", "plain"))
    read["body"] = (body.get_content_type(), body.get_content().split())
    leaves = [part for part in parsed.walk() if not part.is_multipart()]
    read["files"] = [
        (part.get_filename(), part.get_content_type(), part["content-id"], part.get_content())
        for part in leaves
        if part.get_content_maintype() != "text" or _is_file(part)
    ]
    return read


def differences(name, raw, changed, read=members):
    """Return the other members that a change of *name* changed; *name* where it is unchanged."""
    before, after = read(raw), read(changed)
    others = {member for member in before if before[member] != after[member]} - {name}
    unchanged = before[name] == after[name] and before[name] not in AS_ASKED
    return others | ({name} if unchanged else set())
