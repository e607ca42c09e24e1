"""Import of mail files into a mailbox of the sandbox."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from sandbox.importing import mail_files, mail_flags
from sandbox.importing.mail_files import SkippedMessage, StoredMessage
from sandbox.importing.report import ALREADY_THERE, CannotImport, ImportReport, Progress
from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import FOLDERS, MailStore, NewMail
from sandbox.storage.database import Database

BATCH = 200  # messages written in one transaction


def import_mail(
    store: Database, *, into: str, path: Path, progress: Progress, options: Mapping[str, str]
) -> ImportReport:
    """
    Import mail from an mbox file, an .eml file, a maildir or a folder of these.

    Options: ``folder`` (one of `FOLDERS`, for all messages), ``label`` (added to all messages).
    """
    folder, label = _mail_options(options)
    mails = MailStore(store)
    seen = {_fingerprint(mail.raw) for mail in mails.all(into)}
    skipped: list[tuple[str, str]] = []
    batch: list[NewMail] = []
    processed = imported = 0
    for processed, message in enumerate(mail_files.read(path), 1):
        mail = _new_mail(message, into, seen)
        if isinstance(mail, SkippedMessage):
            skipped.append((mail.name, mail.reason))
        else:
            labels = (*mail.labels, label) if label else mail.labels
            batch.append(replace(mail, folder=folder or mail.folder, labels=labels))
        if len(batch) == BATCH:
            imported += _write(mails, into, batch)
            progress(processed)
    imported += _write(mails, into, batch)
    progress(processed)
    return ImportReport(imported=imported, skipped=tuple(skipped))


def _mail_options(options: Mapping[str, str]) -> tuple[str | None, str | None]:
    unknown = sorted(options.keys() - {"folder", "label"})
    if unknown:
        raise CannotImport(f"Mail is imported without the options {unknown}.")
    folder = options.get("folder")
    if folder is not None and folder not in FOLDERS:
        raise CannotImport(f"There is no folder {folder!r}, only {', '.join(FOLDERS)}.")
    return folder, options.get("label")


def _new_mail(
    message: StoredMessage | SkippedMessage, into: str, seen: set[bytes]
) -> NewMail | SkippedMessage:
    if isinstance(message, SkippedMessage):
        return message
    fingerprint = _fingerprint(message.raw)
    if fingerprint in seen:
        return SkippedMessage(message.name, ALREADY_THERE)
    state = mail_flags.read_state(message)
    if state.deleted:
        return SkippedMessage(message.name, "deleted in its own mailbox, only not yet removed")
    seen.add(fingerprint)
    system = state.system_labels if into == PROVIDER_A else ()
    return NewMail(
        raw=message.raw,
        folder=state.folder,
        labels=(*state.labels, *system),
        is_read=state.is_read,
        is_starred=state.is_starred,
        received_ms=mail_flags.received_ms(message),
    )


def _write(mails: MailStore, into: str, batch: list[NewMail]) -> int:
    """Store and empty *batch*, with labels in their existing spelling; return the number stored."""
    spellings = {
        name: mails.add_label(into, name).name for name in dict.fromkeys(_user_labels(batch))
    }
    normalized = [
        replace(mail, labels=tuple(spellings.get(name, name) for name in mail.labels))
        for mail in batch
    ]
    batch.clear()
    return len(mails.add_many(into, normalized))


def _user_labels(batch: list[NewMail]) -> Iterator[str]:
    for mail in batch:
        yield from (label for label in mail.labels if label not in mail_flags.SYSTEM_LABELS)


def _fingerprint(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()
