"""
An IMAP server, in a thread of its own, whose answers to some commands are a test's.

It has one user and one folder, INBOX, with messages of one small part.
"""

import re
import socketserver
import threading
from contextlib import contextmanager

LEAF = b'("TEXT" "PLAIN" ("CHARSET" "utf-8") NIL NIL "7BIT" 5 1 NIL NIL NIL NIL)'
_FIELDS = re.compile(rb"BODY\.PEEK(\[HEADER\.FIELDS \([^)]*\)\])")


class HostileImap:
    """
    What the server answers.

    Attributes:
        messages: How many there are in the inbox; UIDs are 1 to this.
        answers: Beginning of a command (`UID FETCH`) -> function of the rest of its line, that
            returns the untagged lines as one text, or None for those of an ordinary server.
        structures: UID -> BODYSTRUCTURE; `LEAF` for others.
        headers: UID -> block of headers.
        item_order: Of a row; those that were not asked for are left out.
        heard: Commands without their tags, in order.
        refused: Beginnings of commands that are answered with BAD.
    """

    def __init__(self, messages=50):
        self.messages = messages
        self.answers = {}
        self.structures = {}
        self.headers = {}
        self.item_order = ("UID", "FLAGS", "INTERNALDATE", "HEADERS", "BODYSTRUCTURE")
        self.heard = []
        self.refused = set()
        self.port = 0

    @property
    def url(self):
        return f"imap+plain://127.0.0.1:{self.port}"

    def answer(self, command):
        """Return the untagged lines that answer a command."""
        self.heard.append(command.decode("latin-1"))
        for beginning, answer in self.answers.items():
            if command.upper().startswith(beginning.encode()):
                special = answer(command[len(beginning) :])
                if special is not None:
                    return special
        word = command.upper().split(b" ")[0]
        if word == b"CAPABILITY":
            return b"* CAPABILITY IMAP4rev1 LIST-STATUS\r\n"
        if word == b"LIST":
            state = b"MESSAGES %d UIDNEXT %d UIDVALIDITY 7" % (self.messages, self.messages + 1)
            return b'* LIST () "/" INBOX\r\n* STATUS INBOX (' + state + b")\r\n"
        if word in (b"EXAMINE", b"SELECT"):
            return b"* %d EXISTS\r\n* OK [UIDVALIDITY 7] valid\r\n" % self.messages
        if command.upper().startswith(b"UID SEARCH"):
            return b"* SEARCH " + b" ".join(b"%d" % uid for uid in self._all()) + b"\r\n"
        if command.upper().startswith((b"UID FETCH", b"FETCH")):
            return b"".join(self.row(uid, command) for uid in self._named(command))
        return b""

    def row(self, uid, command):
        """Return the row of a message for a FETCH command."""
        fields = _FIELDS.search(command)
        items = {
            "UID": b"UID %d" % uid,
            "FLAGS": b"FLAGS ()",
            "INTERNALDATE": b'INTERNALDATE "02-Mar-2030 12:%02d:%02d +0000"'
            % (uid // 60 % 60, uid % 60),
            "BODYSTRUCTURE": b"BODYSTRUCTURE " + self.structures.get(uid, LEAF),
        }
        if fields is not None:
            block = self.headers.get(uid, b"Subject: Mail %d\r\nFrom: a@b.example\r\n\r\n" % uid)
            items["HEADERS"] = b"BODY%b {%d}\r\n%b" % (fields[1], len(block), block)
        part = re.search(rb"BODY\.PEEK(\[[0-9.]+\])", command)
        if part is not None:
            items["BODY"] = b"BODY%b {5}\r\nhello" % part[1]
        asked = [
            items[name]
            for name in (*self.item_order, "BODY")
            if name in items
            and (name in ("HEADERS", "BODY") or name.encode() in command.partition(b"(")[2])
        ]
        return b"* %d FETCH (%b)\r\n" % (uid, b" ".join(asked))

    def _all(self):
        return range(1, self.messages + 1)

    def _named(self, command):
        uids = set()
        for part in re.search(rb"FETCH ([0-9:,*]+)", command)[1].split(b","):
            first, _, last = part.partition(b":")
            end = self.messages if last == b"*" else int(last or first)
            uids |= set(range(int(first), end + 1))
        return sorted(uids & set(self._all()))


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            self.wfile.write(b"* OK ready\r\n")
            while line := self.rfile.readline():
                tag, _, command = line.rstrip(b"\r\n").partition(b" ")
                while literal := re.search(rb"\{(\d+)(\+?)\}$", command):
                    if not literal[2]:
                        self.wfile.write(b"+ go\r\n")
                    self.rfile.read(int(literal[1]))
                    command += self.rfile.readline().rstrip(b"\r\n")
                script = self.server.script
                is_refused = any(map(command.decode("latin-1").startswith, script.refused))
                status = b" BAD unknown\r\n" if is_refused else b" OK done\r\n"
                answer = b"" if is_refused else script.answer(command)
                self.wfile.write(answer + tag + status)  # at once: Nagle's algorithm waits else
        except OSError:
            pass  # the client has enough


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


@contextmanager
def running(messages=50):
    """Run a server; yield what it answers."""
    script = HostileImap(messages)
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.script = script
        script.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield script
        finally:
            server.shutdown()
            thread.join()
