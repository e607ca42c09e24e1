"""Root mutations of sharing: share a file or folder, change and delete permissions."""

from collections.abc import Callable, Sequence
from typing import Annotated

import strawberry

from graph.collab import ids, inputs, previews
from graph.collab.changes import apply_change
from graph.collab.failures import translate_failures
from graph.collab.file_queries import FileId
from graph.collab.types import DriveOperationResult
from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.folder_checks import require_contents_allowed
from graph.context import Context, Info
from graph.masking.guards import guarded
from policy.caller import Caller
from policy.recipients import Recipient
from policy.refusals import InvalidInput, NotFound
from policy.vocabulary import Code, CollabField, CollabOp
from providers.collab_ids import ItemKey
from providers.ports.collab import Share
from providers.records.collab import File, Permission

Argument = strawberry.argument


@guarded(CollabOp.SHARE_FILE)
@translate_failures
async def share_file(
    info: Info,
    file_id: FileId,
    written: Annotated[
        inputs.ShareDriveFileInput, Argument(name="input", description="With whom.")
    ],
) -> DriveOperationResult:
    """Share a file or folder."""
    context = info.context
    key, share = ids.parse_file(file_id), _share(written)
    path = "input.type" if share.email is None else "input.emailAddress"
    access, file = await _read_with_contents(
        context,
        key,
        CollabOp.SHARE_FILE,
        check=lambda each: each.require_recipients([Recipient(share.email, path)]),
    )
    context.refuse_uncertain_retry()  # the provider would notify the recipients again
    previews.describe_share(file, share)
    permission_id = await apply_change(access.content.share(key, share), refusable=True)
    return DriveOperationResult(file_id=file.id, permission_id=permission_id, role=share.role)


@guarded(CollabOp.UPDATE_PERMISSIONS)
@translate_failures
async def update_file_permission(
    info: Info,
    file_id: FileId,
    permission_id: Annotated[str, Argument(description="The permission's id.")],
    written: Annotated[
        inputs.UpdateFilePermissionInput, Argument(name="input", description="The new role.")
    ],
) -> DriveOperationResult:
    """Change a permission; that of the owner cannot be changed."""
    context = info.context
    key, permission = ids.parse_file(file_id), ids.parse_permission(permission_id)
    access, file = await _read_with_contents(
        context, key, CollabOp.UPDATE_PERMISSIONS, check=_require_visible_holders
    )
    changed = await _require_changeable(access, key, permission)
    access.caller.require_recipients(Recipient(holder.email_address) for holder in changed)
    role = _shared_role(written.role)
    previews.describe_permission(access.caller, file, permission, changed, role=role)
    change = access.content.update_permission(key, permission, role)
    await apply_change(change, refusable=True)
    return DriveOperationResult(file_id=file.id, permission_id=permission, role=role)


@guarded(CollabOp.UPDATE_PERMISSIONS)
@translate_failures
async def delete_file_permission(
    info: Info,
    file_id: FileId,
    permission_id: Annotated[str, Argument(description="The permission's id.")],
) -> DriveOperationResult:
    """Remove a permission; that of the owner cannot be removed."""
    context = info.context
    key, permission = ids.parse_file(file_id), ids.parse_permission(permission_id)
    access, file = await _read_with_contents(context, key, CollabOp.UPDATE_PERMISSIONS)
    removed = await _require_changeable(access, key, permission)
    previews.describe_permission(access.caller, file, permission, removed, role=None)
    await apply_change(access.content.delete_permission(key, permission), refusable=True)
    return DriveOperationResult(file_id=file.id)


async def _read_with_contents(
    context: Context,
    key: ItemKey,
    operation: CollabOp,
    *,
    check: Callable[[Caller], object] = lambda _: None,
) -> tuple[AccessChecker, File]:
    """
    Read a file, or a folder of which all contents are allowed, since sharing applies to them.

    Return it with the access checker of its account, among those that admit the call.
    """
    admitted = AccessChecker.open_for_write(context, operation, check=check)
    access = await admitted.holding(key)
    target = await access.read_file(key)
    await require_contents_allowed(access, target)
    return access, target.file


def _require_visible_holders(caller: Caller) -> None:
    """Refuse when the account has recipient rules and may not see who holds permissions."""
    if caller.limits_recipients:
        caller.require_visible_recipients("Changing a permission", CollabField.SHARED_WITH)


async def _require_changeable(
    access: AccessChecker, key: ItemKey, permission_id: str
) -> Sequence[Permission]:
    """
    Return the records of a permission, one for each holder.

    Raises:
        NotFound: There is none.
        InvalidInput: It is the owner's.
    """
    permissions = await access.content.permissions(key)
    matching = [permission for permission in permissions if permission.id == permission_id]
    if not matching:
        raise NotFound("The file has no permission with this id.")
    if any(permission.role == "owner" for permission in matching):
        raise InvalidInput(
            "The owner's permission cannot be changed or removed.", code=Code.VALIDATION_ERROR
        )
    return matching


def _share(written: inputs.ShareDriveFileInput) -> Share:
    email = None
    if written.type in (inputs.ShareType.USER, inputs.ShareType.GROUP):
        email = inputs.validate_address(written.email_address, "input.emailAddress")
    if written.type is inputs.ShareType.DOMAIN:
        inputs.require_text(written.domain, "input.domain")
    return Share(
        type=written.type.value,
        role=_shared_role(written.role),
        email=email,
        notify=written.send_notification is not False,
        message=written.message or None,
    )


def _shared_role(role: inputs.ShareRole) -> str:
    """Return the role to give: a commenter reads (docs/spec/collab.md#sharing)."""
    return (inputs.ShareRole.READER if role is inputs.ShareRole.COMMENTER else role).value
