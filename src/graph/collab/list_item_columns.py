"""
Columns of list items that change more than the item: docs/spec/collab.md#rows-that-are-files.

A library's file is a list item too. What a token may not do to the file, it may not do through the
columns of its list item either.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from graph.collab.file_names import find_name_problem, types_by_name
from graph.collab.visibility.access import AccessChecker, AccessibleFile, AccessibleListItem
from policy.caller import Caller
from policy.refusals import Detail, InvalidInput, OperationNotAllowed
from policy.rule_facts import UNKNOWN, Facts
from policy.vocabulary import Code, CollabOp
from providers.records.collab import File

NAME_COLUMN = "FileLeafRef"
# Columns that move a file, check it out or in, publish, label or share it, or make it something
# else: they are written by the calls for files, or not at all. Compared in lower case, without the
# suffix of look-ups.
_CLOSED = frozenset(
    name.lower()
    for name in (
        # other spellings of the name
        *("BaseName", "LinkFilename", "LinkFilename2", "LinkFilenameNoMenu", "File_x0020_Type"),
        # the place
        *("FileDirRef", "FileRef", "EncodedAbsUrl", "ServerUrl", "ParentLeafName"),
        *("ParentUniqueId", "ParentVersionString", "UniqueId", "GUID", "FSObjType", "ProgId"),
        # versions and publishing
        *("CheckoutUser", "CheckedOutUserId", "IsCheckedoutToLocal", "_CheckinComment"),
        *("_ModerationStatus", "_ModerationComments", "_Level", "_UIVersion", "_UIVersionString"),
        # permissions, labels and retention
        *("ScopeId", "HasUniqueRoleAssignments", "PermMask", "SharedWithUsers"),
        *("SharedWithDetails", "_IpLabelId", "_IpLabelHash", "_IpLabelAssignmentMethod"),
        *("_DisplayName", "_ComplianceFlags", "_ComplianceTag", "_ComplianceTagWrittenTime"),
        "_ComplianceTagUserId",
    )
)
_CONTENT_TYPE_COLUMNS = ("ContentTypeId", "ContentType")


def require_open_columns(fields: Mapping[str, object]) -> None:
    """Raise InvalidInput for columns that cannot be written through a list item."""
    closed = [name for name in fields if name.lower().removesuffix("lookupid") in _CLOSED]
    if closed:
        _refuse(
            *(
                Detail(f"fields.{name}", "It cannot be written through list items.")
                for name in closed
            )
        )


def require_new_name(caller: Caller, fields: Mapping[str, object]) -> str | None:
    """
    Return the new name that *fields* give a file; None when they do not rename it.

    Raises:
        OperationNotAllowed: The token may not rename files.
        InvalidInput: A file cannot have the name.
    """
    if NAME_COLUMN not in fields:
        return None
    if not caller.allows(CollabOp.RENAME_FILE):
        raise OperationNotAllowed(CollabOp.RENAME_FILE)
    name = fields[NAME_COLUMN]
    problem = find_name_problem(name) if isinstance(name, str) else "It must be a string."
    if problem is not None:
        _refuse(Detail(f"fields.{NAME_COLUMN}", problem))
    return str(name)


def require_list_item_renaming(
    access: AccessChecker, target: AccessibleListItem, name: str
) -> None:
    """Raise Blocked unless the file of an item, read with `file`, may have the types of *name*."""
    file = target.list_item.file
    if isinstance(file, File):
        access.require_renaming(AccessibleFile(file, target.facts), types_by_name(name))


def require_deletion(caller: Caller, target: AccessibleListItem) -> None:
    """Raise OperationNotAllowed if the item, read with `file`, is a file that must stay."""
    if target.list_item.file is not None and not caller.allows(CollabOp.DELETE_FILE):
        raise OperationNotAllowed(CollabOp.DELETE_FILE)


def with_content_type(facts: Facts, fields: Mapping[str, object]) -> Facts:
    """Return *facts* with the content type that *fields* give; UNKNOWN where it is only named."""
    if not any(name in fields for name in _CONTENT_TYPE_COLUMNS):
        return facts
    content_type = fields.get("ContentTypeId")
    if "ContentType" in fields or not isinstance(content_type, str):
        return replace(facts, content_type_id=UNKNOWN)
    return replace(facts, content_type_id=content_type)


def _refuse(*details: Detail) -> None:
    raise InvalidInput(
        "Some of the fields cannot be written.", code=Code.INVALID_FIELDS, details=details
    )
