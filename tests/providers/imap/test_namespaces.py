"""Which folders are those of one mailbox, by what servers of several kinds answer."""

import re

import pytest

from providers.failures import Inaccessible
from providers.imap.namespaces import own_mailbox, shared_mailbox
from providers.imap.parsing import Pieces
from providers.imap.replies import MailboxRoot, Rejected, Reply
from providers.imap.rights import read_rights

DOVECOT = b'(("" "/")) (("user/" "/")) NIL'
CYRUS = b'(("INBOX." ".")) (("user." ".")) (("" "."))'
PUBLIC = b'(("" "/")) NIL (("Shared/" "/"))'
ODD = b'(("" "/") "x" ("")) NIL'


class Server:
    """A session whose server has some folders, and answers one line to other commands."""

    def __init__(self, namespaces=None, folders=(), capabilities=(), **answers):
        words = ("NAMESPACE",) if namespaces is not None else ()
        self.capabilities = frozenset((*words, *capabilities))
        self._namespaces, self._folders, self._answers = namespaces, folders, answers
        self.commands = []

    async def command(self, *parts):
        self.commands.append(" ".join(map(str, parts)))
        name = parts[0].split()[0]
        if name == "NAMESPACE":
            return self._reply(b"* NAMESPACE " + self._namespaces)
        if name == "LIST":
            pattern = re.escape(parts[1].strip('"')).replace("%", "[^./]*")
            flags = dict(self._folders)
            names = [folder for folder in flags if re.fullmatch(pattern, folder)]
            return self._reply(*(f'* LIST ({flags[name]}) "/" "{name}"'.encode() for name in names))
        if name not in self._answers:
            raise Rejected("", is_syntax=False)
        return self._reply(self._answers[name])

    @staticmethod
    def _reply(*lines):
        return Reply(b"OK done", tuple(Pieces([line]) for line in lines))


@pytest.mark.parametrize(
    ("namespaces", "foreign"),
    [(None, ()), (DOVECOT, (b"user/",)), (CYRUS, (b"user.",)), (PUBLIC, (b"Shared/",)), (ODD, ())],
)
async def test_an_own_mailbox_leaves_out_what_belongs_to_others(namespaces, foreign):
    root = await own_mailbox(Server(namespaces))

    assert root == MailboxRoot(foreign=foreign)
    assert not root.is_shared
    assert root.holds(b"INBOX")
    assert root.holds(b"Sent")
    assert [root.holds(prefix + b"team") for prefix in foreign] == [False] * len(foreign)


@pytest.mark.parametrize(
    ("namespaces", "folders", "root"),
    [
        (
            DOVECOT,
            {"user/team@north.example": "\\HasChildren", "user/team@north.example/Sent": ""},
            MailboxRoot(b"user/team@north.example", b"user/team@north.example/"),
        ),
        (
            DOVECOT,
            {"user/team@north.example": "\\Noselect", "user/team@north.example/Inbox": ""},
            MailboxRoot(b"user/team@north.example/Inbox", b"user/team@north.example/"),
        ),
        (
            CYRUS,
            {"user.team@north^example": ""},
            MailboxRoot(b"user.team@north^example", b"user.team@north^example."),
        ),
        (CYRUS, {"user.team": ""}, MailboxRoot(b"user.team", b"user.team.")),
        (PUBLIC, {"Shared/team": ""}, MailboxRoot(b"Shared/team", b"Shared/team/")),
    ],
)
async def test_a_shared_mailbox_is_found_by_its_name(namespaces, folders, root):
    found = await shared_mailbox(
        Server(namespaces, folders.items()), "team@north.example", "ada@north.example"
    )

    assert found == root
    assert found.is_shared
    assert found.holds(root.prefix + b"Projects")
    assert not found.holds(b"INBOX")
    assert not found.holds(root.prefix[:-1] + b"2")
    assert (found.relative(root.inbox), found.relative(root.prefix + b"a")) == (b"INBOX", b"a")


@pytest.mark.parametrize(
    ("namespaces", "folders", "address", "username"),
    [
        (None, {"user/team": ""}, "team@north.example", "ada"),
        (DOVECOT, {}, "team@north.example", "ada"),
        (DOVECOT, {"user/team": "\\Noselect"}, "team@north.example", "ada"),
        (DOVECOT, {"user/team": ""}, "team@south.example", "ada@north.example"),
        (DOVECOT, {"user/ben": ""}, "*@north.example", "ada"),
        (DOVECOT, {"user/team": ""}, "t%m@north.example", "ada"),
        (DOVECOT, {"user/": ""}, "@north.example", "ada@south.example"),
    ],
)
async def test_no_other_mailbox_is_taken_for_it(namespaces, folders, address, username):
    with pytest.raises(Inaccessible, match="is not shared with the person"):
        await shared_mailbox(Server(namespaces, folders.items()), address, username)


@pytest.mark.parametrize(
    ("capabilities", "answer", "rights"),
    [
        ((), None, None),
        (("ACL",), None, ""),
        (("ACL", "RIGHTS=TEXK"), b"* MYRIGHTS a lrswite", "lrswite"),
        (("ACL", "RIGHTS=TEXK"), b"* MYRIGHTS a lrd", "lrd"),
        (("ACL",), b'* MYRIGHTS "a" lrcd', "lrcdkxte"),
        (("ACL",), b"* MYRIGHTS a", ""),
    ],
)
async def test_rights_are_letters(capabilities, answer, rights):
    answers = {} if answer is None else {"MYRIGHTS": answer}
    read = await read_rights(Server(capabilities=capabilities, **answers), b"a")

    assert read == (None if rights is None else frozenset(rights))
