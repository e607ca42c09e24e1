"""The own servers of a demo, started and ended together."""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.own_servers import contents, dovecot, postfix, radicale
from sandbox.own_servers.processes import CannotStart


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServers:
    """
    The servers that run.

    Attributes:
        mail, submission, calendar: Addresses for the gateway; "": there is none.
        password: Of every user.
        sentences: What is missing, and why.
    """

    mail: str
    submission: str
    calendar: str
    password: str
    sentences: tuple[str, ...]

    @property
    def described(self) -> dict[str, Any]:
        """Return their part of the demo's manifest."""
        return {
            "mail": self.mail,
            "submission": self.submission,
            "calendar": self.calendar,
            "user": contents.OWNER,
            "password": self.password,
            "missing": list(self.sentences),
        }


NONE = OwnServers(mail="", submission="", calendar="", password="", sentences=())


@contextmanager
def running() -> Iterator[OwnServers]:
    """
    Run the servers that are installed, over new files in a temporary folder.

    The demo's own folder may be one that the servers' ordinary user cannot reach.

    Raises:
        CannotStart: Neither Dovecot nor Radicale is installed, or a server does not start.
    """
    reasons = {
        "third mailbox": dovecot.missing(),
        "outgoing mail of it": postfix.missing(),
        "third calendar": radicale.missing(),
    }
    sentences = [f"No {part}: {reason}" for part, reason in reasons.items() if reason]
    if reasons["third mailbox"] and reasons["third calendar"]:
        raise CannotStart("\n".join(["There are no own servers.", *sentences]))
    password = secrets.token_urlsafe(32)
    mail = submission = calendar = ""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="own-servers-")))
        folder.chmod(0o711)
        if reasons["third mailbox"] is None:
            mails = _made(folder / "dovecot")
            _made(mails / "mail")
            contents.write_mail(mails / "mail")
            passwords = {contents.OWNER: password, contents.COLLEAGUE: password}
            mailboxes = dovecot.start(mails, domain=contents.DOMAIN, passwords=passwords)
            stack.callback(mailboxes.process.stop)
            mail = mailboxes.url
            if not dovecot.can_deliver() and reasons["outgoing mail of it"] is None:
                sentences.append("No outgoing mail of it: the package dovecot-lmtpd is missing.")
            elif reasons["outgoing mail of it"] is None:
                sender = postfix.start(_made(folder / "postfix"), mailboxes, domain=contents.DOMAIN)
                stack.callback(sender.stop)
                submission = sender.url
        if reasons["third calendar"] is None:
            calendars = _made(folder / "radicale")
            contents.write_calendars(_made(calendars / "data"), contents.OWNER)
            server = radicale.start(calendars, user=contents.OWNER, password=password)
            stack.callback(server.process.stop)
            calendar = server.url
        yield OwnServers(
            mail=mail,
            submission=submission,
            calendar=calendar,
            password=password,
            sentences=tuple(sentences),
        )


def _made(folder: Path) -> Path:
    """Make a folder through which other users reach those below it."""
    folder.mkdir()
    folder.chmod(0o711)
    return folder
