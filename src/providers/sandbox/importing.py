"""
Load real material into the sandbox: `import_path` picks the importer, mail is loaded here.

Nothing is dropped in silence: what does not come in is named in the report with its reason.
Source: decisions 14, "Real input".
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from providers.sandbox import mailfiles, mailmarks
from providers.sandbox.mailfiles import Found, Unusable
from providers.sandbox.mailnames import MAILBOXES, PROVIDER_A
from providers.sandbox.mailstore import FOLDERS, MailStore, NewMail
from providers.sandbox.store import Store

BATCH = 200  # messages written in one transaction

ALREADY_THERE = "already there"

Progress = Callable[[int], None]


class CannotImport(ValueError):
    """The whole request makes no sense; the message says why and may be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """
    What an import did.

    Attributes:
        imported: How many messages (events, files, rows) came in.
        skipped: What did not: its name and the reason, in the order of reading.
    """

    imported: int
    skipped: tuple[tuple[str, str], ...]


class Importer(Protocol):
    """Load *path* into *into*, telling *progress* now and then how much has been looked at."""

    def __call__(
        self, store: Store, *, into: str, path: Path, progress: Progress, options: Mapping[str, str]
    ) -> ImportReport: ...


def import_path(
    store: Store, *, into: str, path: Path, progress: Progress | None = None, **options: str
) -> ImportReport:
    """
    Load a file or a folder into one upstream of the sandbox.

    *into* is "provider-a", "provider-b", "collab" or "tasks". *progress* is told now and then how
    many messages have been looked at. Options for mail: ``folder`` (one of `FOLDERS`, for every
    message) and ``label`` (one more label for every message).

    Raises:
        CannotImport: There is no such file, no such target, no importer for this kind of file
            there, or an option it does not know.
    """
    if not path.exists():
        raise CannotImport(f"There is nothing at {path}.")
    importer = _importer(into, path)
    return importer(
        store,
        into=into,
        path=path,
        progress=progress or _unheard,
        options=MappingProxyType(options),
    )


def import_mail(
    store: Store, *, into: str, path: Path, progress: Progress, options: Mapping[str, str]
) -> ImportReport:
    """Load mail from an mbox file, an .eml file, a maildir or a folder of these."""
    folder, label = _mail_options(options)
    mails = MailStore(store)
    seen = {_fingerprint(mail.raw) for mail in mails.all(into)}
    skipped: list[tuple[str, str]] = []
    batch: list[NewMail] = []
    looked_at = imported = 0
    for looked_at, found in enumerate(mailfiles.read(path), 1):
        mail = _new_mail(found, into, seen)
        if isinstance(mail, Unusable):
            skipped.append((mail.name, mail.reason))
        else:
            labels = (*mail.labels, label) if label else mail.labels
            batch.append(_moved(mail, folder or mail.folder, labels))
        if len(batch) == BATCH:
            imported += _write(mails, into, batch)
            progress(looked_at)
    imported += _write(mails, into, batch)
    progress(looked_at)
    return ImportReport(imported=imported, skipped=tuple(skipped))


# Which importer: by target and by what the path ends with ("/" for a folder, "" for anything else).
IMPORTERS: Mapping[tuple[str, str], Importer] = MappingProxyType(
    {(mailbox, kind): import_mail for mailbox in MAILBOXES for kind in ("/", "")}
)
_NOT_MAIL = (".ics", ".csv", ".pst", ".msg")


def _importer(into: str, path: Path) -> Importer:
    targets = {target for target, _ in IMPORTERS}
    if into not in targets:
        raise CannotImport(f"Nothing can be imported into {into!r}, only {sorted(targets)}.")
    kind = "/" if path.is_dir() else path.suffix.lower()
    found = IMPORTERS.get((into, kind))
    if found is None and kind not in _NOT_MAIL:
        found = IMPORTERS.get((into, ""))
    if found is None:
        raise CannotImport(f"A file ending in {kind!r} cannot be imported into {into}.")
    return found


def _unheard(looked_at: int) -> None:
    """Tell nobody."""


def _mail_options(options: Mapping[str, str]) -> tuple[str | None, str | None]:
    unknown = sorted(options.keys() - {"folder", "label"})
    if unknown:
        raise CannotImport(f"Mail is imported without the options {unknown}.")
    folder = options.get("folder")
    if folder is not None and folder not in FOLDERS:
        raise CannotImport(f"There is no folder {folder!r}, only {list(FOLDERS)}.")
    return folder, options.get("label")


def _new_mail(found: Found | Unusable, into: str, seen: set[bytes]) -> NewMail | Unusable:
    if isinstance(found, Unusable):
        return found
    fingerprint = _fingerprint(found.raw)
    if fingerprint in seen:
        return Unusable(found.name, ALREADY_THERE)
    marked = mailmarks.marks(found)
    if marked.deleted:
        return Unusable(found.name, "deleted in its own mailbox, only not yet removed")
    seen.add(fingerprint)
    system = marked.system_labels if into == PROVIDER_A else ()
    return NewMail(
        raw=found.raw,
        folder=marked.folder,
        labels=(*marked.labels, *system),
        is_read=marked.is_read,
        is_starred=marked.is_starred,
        received_ms=mailmarks.received_ms(found),
    )


def _moved(mail: NewMail, folder: str, labels: tuple[str, ...]) -> NewMail:
    return NewMail(
        raw=mail.raw,
        folder=folder,
        labels=labels,
        is_read=mail.is_read,
        is_starred=mail.is_starred,
        received_ms=mail.received_ms,
    )


def _write(mails: MailStore, into: str, batch: list[NewMail]) -> int:
    """Write what has been collected, with its labels, and empty *batch*."""
    for label in dict.fromkeys(_user_labels(batch)):
        mails.add_label(into, label)
    written = len(mails.add_many(into, batch))
    batch.clear()
    return written


def _user_labels(batch: list[NewMail]) -> Iterator[str]:
    for mail in batch:
        yield from (label for label in mail.labels if label not in mailmarks.SYSTEM_LABELS)


def _fingerprint(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()
