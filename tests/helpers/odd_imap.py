"""
An IMAP server with one odd behaviour per account, as public reports of mail programs tell them.

The user name before the @ chooses the behaviour; any password is right; "plain" is orderly.
"""

import asyncio
import re
from contextlib import asynccontextmanager

from odd_imap_accounts import (
    ANNOUNCED,
    BASE64,
    BOXES,
    CAPABILITIES,
    FILE_TEXT,
    LOGINS,
    ORDINARY,
    STRUCTURES,
    Box,
)


class OddImap:
    """
    The server.

    Attributes:
        port: On 127.0.0.1.
        heard: The commands of every account, without their tags.
    """

    def __init__(self):
        self.port = 0
        self.heard: dict[str, list[str]] = {}
        self._worlds = {}

    def boxes(self, user):
        if user not in self._worlds:
            make = BOXES.get(user.partition("@")[0], lambda: [Box("INBOX", ORDINARY)])
            self._worlds[user] = {box.name: box for box in make()}
        return self._worlds[user]

    async def serve(self, reader, writer):
        try:
            await _Connection(self, reader, writer).run()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def odd_imap():
    """Serve on a free port."""
    server = OddImap()
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()


class _Connection:
    def __init__(self, server, reader, writer):
        self._server, self._reader, self._writer = server, reader, writer
        self._user, self._box, self._has_told_name = "", None, False
        self._odd = ""
        self._log = []

    def send(self, line):
        self._writer.write(line if isinstance(line, bytes) else line.encode())

    async def command(self):
        """Return the next command; literals are written as quoted strings."""
        text = b""
        while line := await self._reader.readline():
            literal = re.search(rb"\{(\d+)(\+?)\}\r\n$", line)
            if literal is None:
                return text + line.rstrip(b"\r\n")
            if not literal[2]:
                self.send("+ go\r\n")
            content = await self._reader.readexactly(int(literal[1]))
            text += line[: literal.start()] + b'"' + content.replace(b'"', b'\\"') + b'"'
        return None

    async def run(self):
        self.send("* OK ready\r\n")
        while (command := await self.command()) is not None:
            tag, _, rest = command.decode("utf-8", "replace").partition(" ")
            word, _, arguments = rest.partition(" ")
            if word == "UID":
                word, _, arguments = arguments.partition(" ")
            if word == "LOGIN":
                self._log_in(arguments)
            self._log.append(rest)
            handle = getattr(self, f"_{word.lower()}", None)
            status = "BAD unknown" if handle is None else handle(arguments, rest)
            self.send(status if status.startswith("*") else f"{tag} {status}\r\n")
            await self._writer.drain()
            if self._ends(word):
                return

    def _log_in(self, arguments):
        self._user = arguments.split('"')[1]
        self._odd = self._user.partition("@")[0]
        self._log = self._server.heard.setdefault(self._user, self._log)

    def _ends(self, word):
        if (self._odd, word) == ("throttle", "LIST"):
            self.send("* BYE Connection closed. 14\r\n")
            return True
        return word == "LOGOUT" or (self._odd, word) in {("loginbye", "LOGIN"), ("bye", "LIST")}

    # -- commands: each returns its status, or a line that ends the connection

    def _capability(self, *_):
        self.send(f"* CAPABILITY {CAPABILITIES}{ANNOUNCED.get(self._odd, '')}\r\n")
        return "OK done"

    def _login(self, *_):
        if self._odd == "loginbye":
            return "* BYE Too many connections\r\n"
        capabilities = CAPABILITIES + ANNOUNCED.get(self._odd, "")
        return LOGINS.get(self._odd, f"OK [CAPABILITY {capabilities}] logged in")

    def _noop(self, *_):
        return "OK"

    def _id(self, *_):
        self._has_told_name = self._odd == "needsid"
        return "OK" if self._odd == "needsid" else "BAD unknown"

    def _list(self, *_):
        if self._odd == "bye":
            return "* BYE Server shutting down: too many connections, try again later\r\n"
        answers = {
            "connected": "BAD User is authenticated but not connected.",
            "throttle": "BAD Request is throttled. Suggested Backoff Time: 92415 milliseconds",
        }
        if self._odd in answers:
            return answers[self._odd]
        separator = "." if self._odd == "courier_names" else "/"
        for box in self._server.boxes(self._user).values():
            bare = self._odd == "atomlist" and " " not in box.name
            name = box.name if bare else f'"{box.name}"'
            self.send(f'* LIST ({box.flags}) "{separator}" {name}\r\n')
        return "OK"

    def _status(self, arguments, _):
        name = _name(arguments)
        if self._odd == "statusno" and name == "INBOX":
            return "NO Server Unavailable. 15"
        if self._odd in {"nostatus", "nostatusnorselect"}:
            return "NO STATUS is not supported"
        box = self._server.boxes(self._user).get(name)
        if box is None or "\\Noselect" in box.flags:
            return "NO no such folder"
        shown = box.name if self._odd == "atomstatus" else f'"{box.name}"'
        if self._odd == "inboxcase" and box.name == "INBOX":
            shown = '"Inbox"'
        counts = f"MESSAGES {len(box.messages)} UIDNEXT {box.uid_next} UIDVALIDITY 1"
        self.send(f"* STATUS {shown} ({counts})\r\n")
        return "OK"

    def _examine(self, arguments, _):
        if self._odd == "needsid" and not self._has_told_name:
            return "NO SELECT Unsafe Login. Please contact kefu@server.example for help"
        self._box = self._server.boxes(self._user).get(_name(arguments))
        if self._box is None or self._odd == "nostatusnorselect":
            return "NO no such folder"
        self.send(
            f"* {len(self._box.messages)} EXISTS\r\n* 0 RECENT\r\n* FLAGS (\\Seen)\r\n"
            "* OK [PERMANENTFLAGS (\\Seen \\*)] x\r\n* OK [UIDVALIDITY 1] x\r\n"
            f"* OK [UIDNEXT {self._box.uid_next}] x\r\n"
        )
        return "OK [READ-ONLY] done"

    _select = _examine

    def _search(self, _, rest):
        if "CHARSET" in rest:
            refusals = {
                "badsearch": "NO Search failed: charset not supported",
                "badcharset": "NO [BADCHARSET (US-ASCII)] unknown charset",
                "badsyntax": "BAD Could not parse command",
            }
            if self._odd in refusals:
                return refusals[self._odd]
        uids = sorted(self._box.messages)
        if rest.endswith(" DRAFT"):
            uids = []
        elif label := re.search(r'X-GM-LABELS "?((?:[^"\\]|\\.)+)"?$', rest):
            labels = self._box.labels
            uids = [uid for uid in uids if label[1].upper() in labels.get(uid, "").upper()]
        self.send(f"* SEARCH {' '.join(map(str, uids))}\r\n")
        return "OK"

    def _append(self, arguments, _):
        box = self._server.boxes(self._user).get(_name(arguments))
        if self._odd == "appendno":
            return "NO [OVERQUOTA] Quota exceeded"
        if box is None:
            return "NO [TRYCREATE] no such folder"
        uid = box.uid_next
        box.messages[uid] = arguments.split(' "', 1)[1][:-1].replace('\\"', '"').encode()
        return f"OK [APPENDUID 1 {uid}] done"

    def _create(self, arguments, _):
        self._server.boxes(self._user)[_name(arguments)] = Box(_name(arguments))
        return "OK"

    def _store(self, arguments, _):
        """Change labels of Gmail; flags stay as they are."""
        change = re.fullmatch(r"(\d+) ([+-])X-GM-LABELS\.SILENT \((.*)\)", arguments)
        if change is not None:
            uid, kept = int(change[1]), self._box.labels
            named = re.findall(r'"(?:[^"\\]|\\.)*"|\S+', change[3])
            named = [f'"\\{name}"' if name.startswith("\\") else name for name in named]
            present = re.findall(r'"(?:[^"\\]|\\.)*"', kept.get(uid, ""))
            others = [label for label in present if label.lower() not in map(str.lower, named)]
            kept[uid] = " ".join([*others, *(named if change[2] == "+" else [])])
        return "OK"

    def _logout(self, *_):
        self.send("* BYE\r\n")
        return "OK"

    # -- messages

    def _fetch(self, arguments, rest):
        numbers, _, items = arguments.partition(" ")
        if self._odd == "overquota" and "BODY" in items:
            return "NO [OVERQUOTA] Account exceeded command or bandwidth limits. (Failure)"
        by_uid = rest.startswith("UID ")
        uids = sorted(self._box.messages)
        highest = max(uids, default=0) if by_uid else len(uids)
        for number, uid in enumerate(uids, 1):
            if not _is_in(uid if by_uid else number, numbers, highest):
                continue
            if self._odd == "expunge" and number == 1:
                self.send("* 99 EXPUNGE\r\n* OK [ALERT] Maintenance tonight\r\n* 3 EXISTS\r\n")
            self.send(b"* %d FETCH (" % number + self._row(uid, items) + b")\r\n")
            if self._odd == "flagsafter":
                self.send(f"* {number} FETCH (FLAGS (\\Seen))\r\n")
        if self._odd == "emptyline":
            self.send("\r\n")
        return "OK done"

    def _row(self, uid, items):
        raw = self._box.messages[uid]
        body = raw.partition(b"\r\n\r\n")[2]
        second = re.search(rb"10:00:(\d\d)", raw)[1].decode()
        labels = self._box.labels.get(uid, "")
        plain = f'("TEXT" "PLAIN" ("CHARSET" "utf-8") NIL NIL "8BIT" {len(body)} 1 NIL NIL NIL NIL)'
        values = {
            "FLAGS": "FLAGS (\\Recent)" if self._odd == "recent" else "FLAGS (\\Seen)",
            "INTERNALDATE": f'INTERNALDATE "06-Oct-2026 10:00:{second} +0000"',
            "BODYSTRUCTURE": f"BODYSTRUCTURE {STRUCTURES.get(self._odd, plain)}",
            "X-GM-LABELS": f"X-GM-LABELS ({labels})",
        }
        row = [f"UID {uid}".encode()]
        pattern = r"FLAGS|INTERNALDATE|BODYSTRUCTURE|X-GM-LABELS|BODY\.PEEK\[[^\]]*\](?:<[\d.]+>)?"
        row += [
            values[item].encode() if item in values else self._part(raw, body, item)
            for item in re.findall(pattern, items)
        ]
        line = b" ".join(row)
        if self._odd == "blank" and b"}\r\n" in line:
            return line + b"\r\n"
        return line + b" " if self._odd == "spaceparen" else line

    def _part(self, raw, body, item):
        section, start, count = re.match(r"BODY\.PEEK\[(.*)\](?:<(\d+)\.(\d+)>)?", item).groups()
        content = body if section else raw
        if self._odd in STRUCTURES and section in {"1", "2"}:
            content = BASE64 if section == "2" else FILE_TEXT
        if section.startswith("HEADER.FIELDS"):
            content = _headers(raw, re.search(r"\((.*)\)", section)[1].split())
            section = self._header_section(section)
        suffix = ""
        if start is not None:
            content = content[int(start) :][: int(count)]
            suffix = {"partial_range": f"<{start}.{count}>", "partial_none": ""}.get(
                self._odd, f"<{start}>"
            )
        return f"BODY[{section}]{suffix} {{{len(content)}}}\r\n".encode() + content

    def _header_section(self, section):
        names = re.search(r"\((.*)\)", section)[1].split()
        return {
            "courier": "HEADER.FIELDS (" + " ".join(f'"{name}"' for name in names) + ")",
            "reordered": f"HEADER.FIELDS ({' '.join(reversed(names))})",
            "lower": section.lower(),
            "nospace": section.replace("FIELDS (", "FIELDS("),
        }.get(self._odd, section)


def _name(arguments):
    quoted = re.match(r'"([^"]*)"', arguments)
    return quoted[1] if quoted else arguments.split(" ")[0]


def _is_in(number, numbers, highest):
    for part in numbers.split(","):
        first, _, last = part.replace("*", str(highest)).partition(":")
        low, high = sorted((int(first), int(last or first)))
        if low <= number <= high:
            return True
    return False


def _headers(raw, names):
    lines = raw.partition(b"\r\n\r\n")[0].split(b"\r\n")
    wanted = {name.strip('"').upper() for name in names}
    kept = [line for line in lines if line.partition(b":")[0].decode().upper() in wanted]
    return b"".join(line + b"\r\n" for line in kept) + b"\r\n"
