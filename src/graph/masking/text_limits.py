"""
The longest texts: a row for every string argument of a root field, and every member of an input.

The same rows hold for REST, /graphql and saved documents (docs/spec/limits.md#texts); `wellformed`
checks them. A test fails while an argument or a member has no row.
"""

import unicodedata
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from policy.vocabulary import Code

MAX_BODY = 4 * 1024 * 1024  # characters of the text of a mail; the bytes of its request end earlier


class TextLimit(NamedTuple):
    """
    The longest text of an argument or a member.

    Attributes:
        characters: Of the whole text.
        part: Characters of each part of a list that is separated by commas; None: not a list.
        code: Of the refusal. None: longer texts are left to the resolver, which answers them as
            other texts of their kind (an id that nothing has), or reads their beginning.
    """

    characters: int
    part: int | None = None
    code: Code | None = Code.INVALID_PARAMETER


_WORDS = TextLimit(500)
_ADDRESS = TextLimit(320)  # 64 before the @ and 255 behind it: RFC 3696
_PERSON = TextLimit(254)  # a complete address: RFC 5321
_ID = TextLimit(1024, code=None)
_TASK_ID = TextLimit(255, code=None)
_NAME = TextLimit(255, code=None)
_PAGE_TOKEN = TextLimit(4096, code=None)

# An argument of any root field, or "field.argument" where the field has a limit of its own.
ARGUMENTS: Mapping[str, TextLimit] = MappingProxyType(
    {
        "q": _WORDS,
        "collabSearch.q": TextLimit(1000, code=Code.INVALID_QUERY),
        "subject": _WORDS,
        "label": _WORDS,
        "name": _WORDS,
        "status": _WORDS,
        "assignee": _WORDS,
        "from": _ADDRESS,
        "to": _ADDRESS,
        "participant": TextLimit(3300, part=320),  # ten addresses
        "participants": TextLimit(200_000, code=None),  # the first ten addresses count
        "attendees": TextLimit(16_500, part=320),  # fifty addresses
        "email": _WORDS,  # a part of an address
        "people.name": TextLimit(100),
        "changes.since": TextLimit(200, code=Code.INVALID_CURSOR),
        "changes.surfaces": TextLimit(100),
        "person.email": _PERSON,
        "lastContact.email": _PERSON,
        "account": _ADDRESS,
        "assigneeEmail": _ADDRESS,
        "owner": _ADDRESS,
        "sharedWith": _ADDRESS,
        "calendars": TextLimit(20_000),  # a thousand ids
        "provider": TextLimit(50, code=Code.INVALID_PROVIDER),
        "mimeType": TextLimit(255),
        "contentType": TextLimit(255, code=Code.VALIDATION_ERROR),
        "description": TextLimit(1000, code=Code.VALIDATION_ERROR),
        "webUrls": TextLimit(20_020),  # twenty addresses
        "filter": TextLimit(2000),
        "orderBy": TextLimit(1000),
        "selectFields": TextLimit(20_000, part=255),
        "entityTypes": TextLimit(100),
        "text": TextLimit(200_000, code=None),  # what follows is not read
        "ifMatch": TextLimit(1024),
        "fileName": _NAME,
        "handle": TextLimit(100, code=None),
        "pageToken": _PAGE_TOKEN,
        "draftId": _ID,
        "emailId": _ID,
        "threadId": _ID,
        "attachmentId": _ID,
        "eventId": TextLimit(36, code=None),
        "boardId": _TASK_ID,
        "groupId": _WORDS,
        "itemId": _TASK_ID,
        "collabListItem.itemId": _ID,
        "updateListItem.itemId": _ID,
        "deleteListItem.itemId": _ID,
        "fileId": _ID,
        "folderId": _ID,
        "siteId": _ID,
        "driveId": _ID,
        "listId": _ID,
        "permissionId": TextLimit(512, code=None),
        "pendingWrite.id": TextLimit(22, code=None),
        "rotateChangeSubscription.id": TextLimit(16, code=None),
        "deleteChangeSubscription.id": TextLimit(16, code=None),
    }
)

# "Type.member" of an input; a list of texts has the limit of each text.
MEMBERS: Mapping[str, TextLimit] = MappingProxyType(
    {
        "ParticipantInput.email": _ADDRESS,
        "ParticipantInput.name": TextLimit(998),
        "AttachmentInput.name": _NAME,
        "AttachmentInput.contentBase64": TextLimit(4_000_200, code=None),  # 3,000,000 bytes
        "AttachmentInput.contentType": TextLimit(255),
        "AttachmentInput.handle": TextLimit(100, code=None),
        "SendEmailInput.subject": TextLimit(998),  # the longest line of RFC 5322
        "SendEmailInput.body": TextLimit(MAX_BODY),
        "CreateDraftInput.subject": TextLimit(998),
        "CreateDraftInput.body": TextLimit(MAX_BODY),
        "CreateDraftInput.replyTo": _ID,
        "CreateDraftInput.forwardOf": _ID,
        "UpdateDraftInput.subject": TextLimit(998),
        "UpdateDraftInput.body": TextLimit(MAX_BODY),
        "UpdateDraftInput.removeAttachments": TextLimit(1024),
        "ReplyEmailInput.body": TextLimit(MAX_BODY),
        "ForwardEmailInput.body": TextLimit(MAX_BODY),
        "ModifyEmailInput.addLabels": TextLimit(225),
        "ModifyEmailInput.removeLabels": TextLimit(225),
        "CreateTaskItemInput.name": TextLimit(1000),
        "CreateTaskItemInput.groupId": TextLimit(255),
        "AddTaskCommentInput.body": TextLimit(20_000),
        "CreateDriveFolderInput.name": _NAME,
        "CreateDriveFolderInput.parentFolderId": _ID,
        "CreateDriveFolderInput.description": TextLimit(1000),
        "RenameDriveFileInput.newName": _NAME,
        "MoveDriveFileInput.destinationFolderId": _ID,
        "ShareDriveFileInput.emailAddress": _ADDRESS,
        "ShareDriveFileInput.domain": TextLimit(255),
        "ShareDriveFileInput.message": TextLimit(2000),
        "CreateChildTokenInput.name": TextLimit(100),
        "CreateChangeSubscriptionInput.url": TextLimit(2000, code=Code.VALIDATION_ERROR),
        "CreateChangeSubscriptionInput.surfaces": TextLimit(100),
        "ChildTokenRuleInput.ruleType": TextLimit(100),
        "ChildTokenRuleInput.pattern": TextLimit(1024),
        "ChildTokenRuleInput.action": TextLimit(100),
    }
)
_LONGEST_EXPANDED = 1000  # characters of words to look for and of addresses


def of_argument(root: str, name: str) -> TextLimit:
    """Return the limit of the argument *name* of the root field *root*, by GraphQL names."""
    return ARGUMENTS.get(f"{root}.{name}") or ARGUMENTS[name]


def expanded_problem(text: str, limit: TextLimit) -> str | None:
    """
    Return what is wrong with the length of *text* once its compatible characters are written out.

    Providers are asked for this form, in URLs that they bound: U+FDFA alone is 18 characters of it.
    """
    if text.isascii() or limit.characters > _LONGEST_EXPANDED:
        return None
    if len(unicodedata.normalize("NFKC", text)) <= limit.characters:
        return None
    return f"may have at most {limit.characters} characters in its compatible form (NFKC)"


def problem(text: str, limit: TextLimit) -> str | None:
    """Return what is wrong with the length of *text*, to go behind a name; None if it may pass."""
    if len(text) > limit.characters:
        return f"may have at most {limit.characters} characters"
    if limit.part is not None and max(map(len, text.split(","))) > limit.part:
        return f"may have at most {limit.part} characters between two commas"
    return None
