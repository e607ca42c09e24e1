"""Permissions of mail, and lookup of messages and folders."""

import re
from dataclasses import dataclass

from sandbox.mail.store import StoredMail
from sandbox.provider_b.outlook_mail.content import ContentCache
from sandbox.provider_b.outlook_mail.folders import Folders
from sandbox.provider_b.outlook_mail.messages import MessageView
from sandbox.provider_b.responses import malformed_id, not_found
from sandbox.state import SandboxState

# One permission of a row is enough.
READ = ("Mail.Read", "Mail.ReadWrite")
READ_BASIC = (*READ, "Mail.ReadBasic", "Mail.ReadBasic.All")
WRITE = ("Mail.ReadWrite",)
SEND = ("Mail.Send",)

# Plain and immutable ids, of messages, folders and attachments alike.
_ID = re.compile(r"^AA[MkQ][A-Za-z0-9+/_=-]{60,}$", re.ASCII)


def check_id(text: str) -> None:
    """
    Check the form of an id.

    Raises:
        GraphError: ErrorInvalidIdMalformed.
    """
    if not _ID.match(text):
        raise malformed_id()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailbox:
    """Lookup of the messages and folders of one mailbox, *name* in the mail store."""

    name: str
    state: SandboxState
    contents: ContentCache
    folders: Folders

    def mail(self, message_id: str) -> StoredMail:
        """
        Return a message by its plain or immutable id.

        Raises:
            GraphError: The id is malformed or unknown.
        """
        check_id(message_id)
        mail = self.state.mails.find(self.name, message_id)
        if mail is None:
            raise not_found()
        return mail

    def view(self, mail: StoredMail) -> MessageView:
        """Return a message as a record."""
        return MessageView(mail, self.contents)

    def folder_key(self, reference: str) -> str:
        """
        Return the mail store's key of a folder, by its id or well-known name.

        Raises:
            GraphError: The folder is unknown.
        """
        folder = self.folders.find(reference)
        if folder is None:
            check_id(reference)
            raise not_found()
        return folder.key
