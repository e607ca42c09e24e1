"""Input types of the collab mutations, and the validation of their members."""

import re
from enum import StrEnum

import strawberry

from graph.collab.file_names import find_name_problem
from graph.scalars import JSON
from policy.recipients import NO_NORMAL_FORM, as_written
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code

_ADDRESS = re.compile(r"[^@\s\x00-\x1f\x7f-\x9f]+@[^@\s\x00-\x1f\x7f-\x9f]+")


@strawberry.enum(graphql_name_from="value", description="With whom something is shared.")
class ShareType(StrEnum):
    USER = "user"
    GROUP = "group"
    DOMAIN = "domain"
    ANYONE = "anyone"


@strawberry.enum(graphql_name_from="value", description="What sharing lets them do.")
class ShareRole(StrEnum):
    READER = "reader"
    WRITER = "writer"
    COMMENTER = "commenter"


@strawberry.enum(graphql_name_from="value", description="What happens when a name is taken.")
class ConflictBehavior(StrEnum):
    FAIL = "fail"
    RENAME = "rename"
    REPLACE = "replace"


@strawberry.input(description="A new folder.")
class CreateDriveFolderInput:
    name: str = strawberry.field(description="1 to 255 characters.")
    parent_folder_id: str | None = strawberry.field(
        default=None, description="The parent folder; default: the top of the default library."
    )
    description: str | None = strawberry.field(default=None, description="At most 1000 characters.")


@strawberry.input(description="A new name.")
class RenameDriveFileInput:
    new_name: str = strawberry.field(description="1 to 255 characters.")


@strawberry.input(description="The destination of a moved file.")
class MoveDriveFileInput:
    destination_folder_id: str = strawberry.field(
        description="The destination folder, in the same library and not inside the moved folder."
    )


@strawberry.input(description="The person, group or domain to share a file with.")
class ShareDriveFileInput:
    type: ShareType = strawberry.field(description="The recipients.")
    role: ShareRole = strawberry.field(description="The role of the person.")
    email_address: str | None = strawberry.field(
        default=None, description="Required for a user or group."
    )
    domain: str | None = strawberry.field(default=None, description="Required for a domain.")
    send_notification: bool | None = strawberry.field(
        default=True, description="Whether the provider notifies the person by mail."
    )
    message: str | None = strawberry.field(default=None, description="At most 2000 characters.")


@strawberry.input(description="The new role of a permission.")
class UpdateFilePermissionInput:
    role: ShareRole = strawberry.field(description="The role of the person.")


@strawberry.input(description="A list item to create.")
class CreateListItemInput:
    fields: JSON = strawberry.field(description="An object: values by API names of columns.")


@strawberry.input(description="The columns of a list item to change.")
class UpdateListItemInput:
    fields: JSON = strawberry.field(
        description="An object: values by API names of columns; null clears one."
    )


def validate_name(name: str, field: str) -> str:
    """Return *name*; InvalidInput unless a file or folder may have it."""
    problem = find_name_problem(name)
    if problem is not None:
        raise _invalid(field, problem)
    return name


def require_text(value: str | None, field: str) -> str:
    """Return *value* trimmed; InvalidInput if it is absent or blank."""
    if not (value or "").strip():
        raise _invalid(field, "It is required.")
    return (value or "").strip()


def validate_address(value: str | None, field: str) -> str:
    """Return an e-mail address as it is written; InvalidInput if it is absent or invalid."""
    address = require_text(value, field)
    if not _ADDRESS.fullmatch(address):
        raise _invalid(field, "It must be an e-mail address.")
    normal = as_written(address)
    if normal is None:
        raise _invalid(field, NO_NORMAL_FORM)
    return normal


def validate_fields(fields: object) -> dict[str, object]:
    """Return the column values of a list item; InvalidInput unless they are 1 to 100."""
    if not isinstance(fields, dict) or not 1 <= len(fields) <= 100:
        raise _invalid("input.fields", "It must be an object with 1 to 100 members.")
    return fields


def _invalid(field: str, message: str) -> InvalidInput:
    name = field.removeprefix("input.")
    return InvalidInput(
        f"{name}: {message}", code=Code.VALIDATION_ERROR, details=[Detail(field, message)]
    )
