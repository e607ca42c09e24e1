"""An IMAP server of one folder that changes, and that tells of it as a test wants."""

import re
from contextlib import asynccontextmanager, contextmanager

import hostile_imap_server
from imap_account import mailbox_at

ALL = "IMAP4rev1 LIST-STATUS ESEARCH UNSELECT ENABLE CONDSTORE QRESYNC"


class ChangingImap:
    """
    An orderly server with the extensions `ALL`; a test replaces what it wants to be otherwise.

    Attributes:
        capabilities: Announced.
        folder: Its line of LIST.
        present, vanished: UID -> mod-sequence.
        drafts: UIDs of drafts.
        answers: Beginning of a command -> untagged lines, as of `HostileImap`.
        heard, refused: As of `HostileImap`.
    """

    def __init__(self, script):
        self._script = script
        self.answers = script.answers
        self.heard, self.refused = script.heard, script.refused
        self.url = script.url
        self.capabilities = ALL
        self.folder = b'() "/" INBOX'
        self.uid_validity = 7
        self.uid_next = self.mod_seq = 1
        self.present, self.vanished, self.drafts = {}, {}, set()
        self.answers |= {
            "CAPABILITY": lambda _: f"* CAPABILITY {self.capabilities}\r\n".encode(),
            "ENABLE": lambda words: b"* ENABLED%b\r\n" % words,
            "LIST": self.listed,
            "STATUS": self.status,
            "EXAMINE": self.opened,
            "UID SEARCH": self.found,
            "UID FETCH": self.fetched,
        }

    def deliver(self, number=1):
        for _ in range(number):
            self.mod_seq += 1
            self.present[self.uid_next] = self.mod_seq
            self.uid_next += 1

    def flag(self, uid):
        self.mod_seq += 1
        self.present[uid] = self.mod_seq

    def expunge(self, *uids):
        self.mod_seq += 1
        for uid in uids:
            del self.present[uid]
            self.vanished[uid] = self.mod_seq

    @property
    def name(self):
        return self.folder.rpartition(b' "/" ')[2]

    def status(self, _):
        numbers = (len(self.present), self.uid_next, self.uid_validity, self.mod_seq)
        items = b"MESSAGES %d UIDNEXT %d UIDVALIDITY %d HIGHESTMODSEQ %d" % numbers
        return b"* STATUS %b (%b)\r\n" % (self.name, items)

    def listed(self, arguments):
        has_status = "LIST-STATUS" in self.capabilities
        return b"* LIST %b\r\n" % self.folder + (self.status(arguments) if has_status else b"")

    def opened(self, _):
        return (
            b"* %d EXISTS\r\n* OK [UIDNEXT %d] x\r\n* OK [UIDVALIDITY %d] x\r\n"
            b"* OK [HIGHESTMODSEQ %d] x\r\n"
        ) % (len(self.present), self.uid_next, self.uid_validity, self.mod_seq)

    def found(self, criteria):
        since = re.search(rb"MODSEQ (\d+)", criteria)
        least = int(since[1]) if since else 0
        uids = [uid for uid, mod_seq in sorted(self.present.items()) if mod_seq >= least]
        if criteria.endswith(b" DRAFT"):
            uids = [uid for uid in uids if uid in self.drafts]
        if b"RETURN" in criteria:
            text = ",".join(map(str, uids))
            return f'* ESEARCH (TAG "x") UID{" ALL " * bool(uids)}{text}\r\n'.encode()
        return b"* SEARCH %b\r\n" % " ".join(map(str, uids)).encode()

    def fetched(self, arguments):
        asked, since = re.match(
            rb" (\S+) \(UID\) \(CHANGEDSINCE (\d+) VANISHED\)", arguments
        ).groups()
        gone = [uid for uid in self._named(asked) if self.vanished.get(uid, 0) > int(since)]
        text = ",".join(map(str, gone))
        return f"* VANISHED (EARLIER) {text}\r\n".encode() if gone else b""

    def _named(self, asked):
        """Return UIDs as Cyrus names them: `*` is the last message that is there."""
        named = []
        for part in asked.decode().replace("*", str(max(self.present, default=0))).split(","):
            low, _, high = part.partition(":")
            first, last = sorted((int(low), int(high or low)))
            named += range(first, min(last, self.uid_next) + 1)
        return named


@asynccontextmanager
async def opened(change=None):
    """Run a server, changed by *change*; yield it and the mailbox on it."""
    with _running() as server:
        if change is not None:
            change(server)
        async with mailbox_at(server.url) as (mailbox, ids):
            yield server, mailbox, ids


@contextmanager
def _running():
    with hostile_imap_server.running() as script:
        yield ChangingImap(script)
