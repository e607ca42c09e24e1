"""A submission server with one odd behaviour, as public reports of mail programs tell them."""

import asyncio
import base64
import re
from contextlib import asynccontextmanager

EXTENSIONS = ["PIPELINING", "SIZE 35882577", "8BITMIME", "ENHANCEDSTATUSCODES"]
# Behaviour -> the line about logins in the answer to EHLO.
MECHANISMS = {
    "autheq": "AUTH=PLAIN LOGIN",
    "authboth": "AUTH=PLAIN",
    "authlower": "auth plain login",
    "authloginonly": "AUTH LOGIN",
    "noauth": "HELP",
}
GREETINGS = {
    "greet421": "421 4.3.2 Too many concurrent connections, try later",
    "greet450": "450 4.7.1 Try later",
    "greet554": "554 5.7.1 No service here",
}
# Behaviour -> the answer to a login that would be right.
LOGINS = {
    "auth421": "421 4.7.0 Too many errors",
    "auth454": "454 4.7.0 Temporary authentication failure",
    "authmany": "454 4.7.0 Too many login attempts, please try again later",
    "auth535later": "535 5.7.1 Too many login attempts, try again later",
    "auth535": "535 5.7.8 Authentication credentials invalid",
    "authreason": "535 5.7.8 Error: authentication failed: (reason unavailable)",
    "auth534": "534-5.7.9 Application-specific password required\r\n534 5.7.9 see support",
    "authtenant": "535 5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled",
}
RECIPIENTS = {
    "rcptgone": "550 5.1.1 No such user",
    "rcptgrey": "450 4.7.1 Greylisted, try again in 300 seconds",
    "rcptfull": "452 4.2.2 Mailbox full",
    "rcptfull552": "552 5.2.2 Mailbox full",
    "rcptstorage": "452 4.3.1 Insufficient system storage",
}
TOO_MANY = {
    "toomany": "452 4.5.3 Too many recipients",
    "toomany552": "552 too many recipients",
    "toomany550": "550 5.5.3 Too many recipients",
}
CONTENTS = {
    "dailylimit": "550 5.4.5 Daily user sending limit exceeded",
    "spam": "554 5.7.1 Message rejected as spam by content scanner",
    "greydata": "451 4.7.1 Greylisting in action, please come back later",
    "full": "452 4.3.1 Insufficient system storage",
    "full552": "552 5.2.2 Mailbox full",
    "toolarge": "552 5.3.4 Message too big",
    "data421": "421 4.3.0 Closing connection",
    "blank250": "\r\n250 2.0.0 OK",
    "multi250": "250-2.0.0 OK\r\n250 2.0.0 queued as 1",
}
MOST = 20  # recipients


class OddSmtp:
    """
    The server.

    Attributes:
        port: On 127.0.0.1.
        sent: The recipients of each message that it took.
        heard: The commands, without arguments of logins.
    """

    def __init__(self, behaviour):
        self.behaviour, self.port, self.sent, self.heard = behaviour, 0, [], []
        self._recipients = []

    async def serve(self, reader, writer):
        try:
            await self._talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _talk(self, reader, writer):
        self._recipients = []
        greeting = GREETINGS.get(self.behaviour, "220-mx.example\r\n220 ready")
        writer.write(greeting.encode() + b"\r\n")
        if greeting[:3] != "220":
            return
        while line := await reader.readline():
            command = line.decode().strip()
            word = command[:4].upper()
            self.heard.append(" ".join(command.split()[:2]))
            reply = await self._reply(word, command, reader, writer)
            writer.write(reply.encode() + b"\r\n")
            await writer.drain()
            if word == "QUIT" or reply.startswith("421"):
                return

    async def _reply(self, word, command, reader, writer):
        match word:
            case "EHLO":
                lines = ["mx.example", *EXTENSIONS]
                lines += ["AUTH PLAIN"] * (self.behaviour == "authboth")
                logins = MECHANISMS.get(self.behaviour, "AUTH PLAIN LOGIN")
                return "".join(f"250-{line}\r\n" for line in lines) + f"250 {logins}"
            case "AUTH":
                return await self._log_in(command, reader, writer)
            case "MAIL":
                self._recipients = []
                return {"mail421": "421 4.7.0 Try again later"}.get(self.behaviour, "250 2.1.0 ok")
            case "RCPT":
                return self._recipient(re.search("<(.*)>", command)[1])
            case "DATA":
                writer.write(b"354 go\r\n")
                await reader.readuntil(b"\r\n.\r\n")
                reply = CONTENTS.get(self.behaviour, "250 2.0.0 OK")
                if "250" in reply:
                    self.sent.append(self._recipients)
                return reply
            case "QUIT":
                return "221 bye"
        return "500 5.5.2 unknown"

    async def _log_in(self, command, reader, writer):
        if command.startswith("AUTH PLAIN"):
            if self.behaviour in {"plain502", "plain504"}:
                return f"{self.behaviour[-3:]} Invalid input from peer"
            secret = command[len("AUTH PLAIN ") :]
            if self.behaviour == "plain334":
                writer.write(b"334 \r\n")
                secret = (await reader.readline()).decode().strip()
            assert base64.b64decode(secret).count(b"\0") == 2
            return LOGINS.get(self.behaviour, "235 2.7.0 ok")
        for question in (b"334 VXNlcm5hbWU6\r\n", b"334 UGFzc3dvcmQ6\r\n"):
            writer.write(question)
            base64.b64decode((await reader.readline()).strip(), validate=True)
        return LOGINS.get(self.behaviour, "235 2.7.0 ok")

    def _recipient(self, address):
        if self.behaviour == "rcpt421":
            return "421 4.7.0 Too many errors"
        if self.behaviour in RECIPIENTS and address.startswith("refused"):
            return RECIPIENTS[self.behaviour]
        if self.behaviour in TOO_MANY and len(self._recipients) >= MOST:
            return TOO_MANY[self.behaviour]
        self._recipients.append(address)
        return "250 2.1.5 ok"


@asynccontextmanager
async def odd_smtp(behaviour):
    """Serve on a free port."""
    server = OddSmtp(behaviour)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
