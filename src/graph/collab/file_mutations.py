"""Root mutations of files: upload, make, rename, move, delete, share, change permissions."""

from collections.abc import Awaitable
from dataclasses import replace
from typing import Annotated, Literal, TypeVar, cast

import strawberry

from graph.collab import ids
from graph.collab.failures import translate_failures
from graph.collab.inputs import (
    ConflictBehavior,
    CreateDriveFolderInput,
    FileContent,
    MoveDriveFileInput,
    RenameDriveFileInput,
    ShareDriveFileInput,
    ShareType,
    UpdateFilePermissionInput,
    UploadBody,
    require_text,
    resolve_media_type,
    validate_address,
    validate_name,
    validate_text,
)
from graph.collab.types import DriveOperationResult
from graph.collab.views import DriveOperationView
from graph.collab.visibility.access import AccessChecker, AccessibleFile
from graph.collab.visibility.auto_rules import FILES, create_with_rule
from graph.collab.visibility.folder_checks import require_contents_allowed
from graph.context import Context, Info
from graph.masking.guards import guarded
from policy.refusals import AccessDenied, InvalidInput, NotFound, ReadOnlyConnection
from policy.rules import UNKNOWN, Facts, UnknownFact
from policy.vocabulary import Code, CollabOp, Surface
from providers.content.fingerprints import FileFingerprint
from providers.content.ids import ROOT, ItemKey
from providers.failures import Refused
from providers.ports.collab import FileQuery, Order, Share, Upload, UploadTruncated

MAX_DESCRIPTION = 1000  # characters; decisions 8.5
MAX_MESSAGE = 2000  # characters; decisions 8.7
_ETAG = frozenset({"etag"})

Argument = strawberry.argument
FileId = Annotated[str, Argument(description="The file's id.")]
IfMatch = Annotated[str | None, Argument(description="The ETag it must still have.")]
Done = TypeVar("Done")


@guarded(CollabOp.UPLOAD_FILE, returns=DriveOperationResult)
async def upload_file(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    content: Annotated[FileContent, Argument(name="input", description="The bytes.")],
    file_name: Annotated[str, Argument(description="1 to 255 characters.")],
    folder_id: Annotated[str, Argument(description="The folder to put it in.")],
    *,
    mime_type: Annotated[
        str | None, Argument(description="What the bytes are; guessed from the name if absent.")
    ] = None,
    description: Annotated[str | None, Argument(description="At most 1000 characters.")] = None,
    conflict_behavior: Annotated[
        ConflictBehavior | None, Argument(description="What happens when the name is taken.")
    ] = ConflictBehavior.FAIL,
) -> DriveOperationView:
    """Store a file; at most 104857600 bytes over REST, 4 MiB here."""
    context, handle = info.context, cast("UploadBody", content)
    name = validate_name(file_name, "fileName")
    key = ids.parse_folder(folder_id)
    upload = Upload(
        name=name,
        chunks=handle.chunks(),
        size=handle.size,
        mime_type=resolve_media_type(mime_type, announced=handle.mime_type, name=name),
        description=validate_text(description, "description", most=MAX_DESCRIPTION),
        conflict=(conflict_behavior or ConflictBehavior.FAIL).value,
    )
    access = writing(context)
    parent = await parent_of(access, key)
    access.require_creation(parent.facts, _child(parent, mime=upload.mime_type))
    if upload.conflict == "replace":
        await _require_replaceable(context, access, parent, name)
    if upload.conflict == "rename":
        # It would be a second file; otherwise the name tells of the first.
        context.refuse_uncertain_retry()

    async def store() -> DriveOperationView:
        made = await create_with_rule(
            context,
            FILES,
            _trace(parent, name, size=handle.size, renames=upload.conflict == "rename"),
            lambda: changed(context.content.upload(parent.file.key, upload)),
        )
        return DriveOperationView(file_id=made.id)

    try:
        return await store()
    except UploadTruncated as problem:
        raise InvalidInput(
            "The bytes are not as many as were announced.", code=Code.VALIDATION_ERROR
        ) from problem
    except Exception as problem:
        if handle.broken is not None:
            raise InvalidInput("The upload broke off.", code=Code.VALIDATION_ERROR) from problem
        raise


@guarded(CollabOp.CREATE_FOLDER, returns=DriveOperationResult)
async def create_folder(
    info: Info,
    written: Annotated[CreateDriveFolderInput, Argument(name="input", description="The folder.")],
) -> DriveOperationView:
    """Make a folder."""
    context = info.context
    name = validate_name(written.name, "input.name")
    description = validate_text(written.description, "input.description", most=MAX_DESCRIPTION)
    given = written.parent_folder_id
    key = ids.parse_folder(given, "parentFolderId") if given else None
    access = writing(context)
    if key is None:
        key = ItemKey((await translate_failures(context.content.default_drive())).drive, ROOT)
    parent = await parent_of(access, key)
    access.require_creation(parent.facts, _child(parent, mime=None))
    made = await create_with_rule(
        context,
        FILES,
        _trace(parent, name, is_folder=True),
        lambda: changed(
            context.content.create_folder(parent.file.key, name, description=description)
        ),
    )
    return DriveOperationView(file_id=made.id)


@guarded(CollabOp.RENAME_FILE, returns=DriveOperationResult)
async def rename_file(
    info: Info,
    file_id: FileId,
    written: Annotated[RenameDriveFileInput, Argument(name="input", description="The new name.")],
    *,
    if_match: IfMatch = None,
) -> DriveOperationView:
    """Give a file or folder another name."""
    context = info.context
    key, name = ids.parse_file(file_id), validate_name(written.new_name, "input.newName")
    found = await translate_failures(writing(context).read_file(key, wanted=_ETAG))
    _require_no_top(found, "renamed")
    tag = etag(if_match) or found.file.etag
    made = await changed(context.content.rename(key, name, etag=tag))
    return DriveOperationView(file_id=made.id)


@guarded(CollabOp.MOVE_FILE, returns=DriveOperationResult)
async def move_file(
    info: Info,
    file_id: FileId,
    written: Annotated[MoveDriveFileInput, Argument(name="input", description="Where to.")],
    *,
    if_match: IfMatch = None,
) -> DriveOperationView:
    """Move a file or folder within its library."""
    context = info.context
    key = ids.parse_file(file_id)
    target = ids.parse_folder(written.destination_folder_id, "destinationFolderId")
    access = writing(context)
    found = await translate_failures(access.read_file(key, wanted=_ETAG))
    if target.drive != key.drive:
        raise _no_destination("The destination is in another library.")
    parent = await parent_of(access, target)
    _require_outside(found, parent)
    access.require_creation(parent.facts, replace(found.facts, ancestors=_below(parent)))
    if found.file.is_folder:
        # What lies in it must not come into reach by being moved.
        access.require_place_allowed(found.facts, _child(found, mime=None))
        await translate_failures(require_contents_allowed(context, access, found))
    tag = etag(if_match) or found.file.etag
    made = await changed(context.content.move(key, parent.file.key, etag=tag))
    return DriveOperationView(file_id=made.id)


@guarded(CollabOp.DELETE_FILE, returns=DriveOperationResult)
async def delete_file(
    info: Info, file_id: FileId, *, if_match: IfMatch = None
) -> DriveOperationView:
    """Put a file or folder into the recycle bin."""
    context = info.context
    key = ids.parse_file(file_id)
    access = writing(context)
    found = await translate_failures(access.read_file(key, wanted=_ETAG))
    _require_no_top(found, "deleted")
    await translate_failures(require_contents_allowed(context, access, found))
    await changed(context.content.delete(key, etag=etag(if_match) or found.file.etag))
    return DriveOperationView(file_id=found.file.id)


@guarded(CollabOp.SHARE_FILE, returns=DriveOperationResult)
async def share_file(
    info: Info,
    file_id: FileId,
    written: Annotated[ShareDriveFileInput, Argument(name="input", description="With whom.")],
) -> DriveOperationView:
    """Let others at a file or folder."""
    context = info.context
    key, share = ids.parse_file(file_id), _share(written)
    found = await _whole(context, key)
    context.refuse_uncertain_retry()  # the provider would write to them again
    given = await changed(context.content.share(key, share), refusable=True)
    return DriveOperationView(file_id=found.file.id, permission_id=given)


@guarded(CollabOp.UPDATE_PERMISSIONS, returns=DriveOperationResult)
async def update_file_permission(
    info: Info,
    file_id: FileId,
    permission_id: Annotated[str, Argument(description="The permission's id.")],
    written: Annotated[
        UpdateFilePermissionInput, Argument(name="input", description="What it shall allow.")
    ],
) -> DriveOperationView:
    """Change what a permission allows; the owner's cannot be changed."""
    context = info.context
    key, permission = ids.parse_file(file_id), ids.parse_permission(permission_id)
    found = await _whole(context, key)
    await _require_given(context, key, permission)
    changing = context.content.update_permission(key, permission, written.role.value)
    await changed(changing, refusable=True)
    return DriveOperationView(file_id=found.file.id, permission_id=permission)


@guarded(CollabOp.UPDATE_PERMISSIONS, returns=DriveOperationResult)
async def delete_file_permission(
    info: Info,
    file_id: FileId,
    permission_id: Annotated[str, Argument(description="The permission's id.")],
) -> DriveOperationView:
    """Take a permission away; the owner's cannot be."""
    context = info.context
    key, permission = ids.parse_file(file_id), ids.parse_permission(permission_id)
    found = await _whole(context, key)
    await _require_given(context, key, permission)
    await changed(context.content.delete_permission(key, permission), refusable=True)
    return DriveOperationView(file_id=found.file.id)


def writing(context: Context) -> AccessChecker:
    """
    Return the reach of a caller that wants to change something; its facts are read afresh.

    Raises:
        NoUsableConnection: No connection may be used.
        ReadOnlyConnection: None of them may write.
    """
    context.caller.usable_connections(Surface.COLLAB)
    if not context.content.can_write:
        raise ReadOnlyConnection
    return AccessChecker(context.content, context.caller.rules)


async def _whole(context: Context, key: ItemKey) -> AccessibleFile:
    """Read a file, or a folder with everything in it, of which others are let at all."""
    access = writing(context)
    found = await translate_failures(access.read_file(key))
    await translate_failures(require_contents_allowed(context, access, found))
    return found


async def parent_of(access: AccessChecker, key: ItemKey) -> AccessibleFile:
    """
    Read the folder that something is to be put in.

    Raises:
        InvalidInput: It is none.
    """
    parent = await translate_failures(access.read_parent(key))
    if not parent.file.is_folder:
        access.require_allowed(parent.facts)
        raise _no_destination("The destination is not a folder.")
    return parent


# What upstream says of a name it reserves, of one that ends with a dot, of a path too long.
_NAME_REFUSED = frozenset({"nameInvalid", "pathIsTooLong"})


async def changed(changing: Awaitable[Done], *, refusable: bool = False) -> Done:
    """
    Wait for a change.

    Raises:
        AccessDenied: `PROVIDER_REFUSED`, the provider's policy forbids it; with *refusable* that
            is what every refusal of the provider means.
        InvalidInput: The provider does not take the name; its own rules are stricter than ours.
    """
    try:
        return await translate_failures(changing)
    except Refused as refusal:
        if refusal.word in _NAME_REFUSED:
            raise InvalidInput(
                "The provider does not take this name here.", code=Code.VALIDATION_ERROR
            ) from refusal
        if type(refusal) is Refused and (refusable or refusal.status == 403):
            raise AccessDenied(
                "The provider's policy does not allow this.", code=Code.PROVIDER_REFUSED
            ) from refusal
        raise


def etag(if_match: str | None) -> str | None:
    """Read an `If-Match`; None when any version will do."""
    text = (if_match or "").strip()
    return None if text in ("", "*") else text


def _trace(
    parent: AccessibleFile,
    name: str,
    *,
    is_folder: bool = False,
    size: int | None = None,
    renames: bool = False,
) -> FileFingerprint:
    """Take down what something that is made in *parent* will be known by."""
    return FileFingerprint(
        drive=parent.file.drive,
        folder=parent.file.item,
        name=name,
        is_folder=is_folder,
        size=size,
        renames=renames,
    )


def _child(parent: AccessibleFile, *, mime: str | None) -> Facts:
    """Return what is known of something new in a folder: its place, and its type."""
    return replace(
        parent.facts,
        item=None,
        ancestors=_below(parent),
        list_item_id=None,
        mime_type=mime,
        label_ids=frozenset(),
        content_type_id=None,
    )


def _below(parent: AccessibleFile) -> frozenset[tuple[str, str]] | Literal[UnknownFact.UNKNOWN]:
    """Return every folder above what lies in *parent*."""
    above = parent.facts.ancestors
    return above if above is UNKNOWN else above | {(parent.file.drive, parent.file.item)}


def _require_no_top(found: AccessibleFile, done: str) -> None:
    """Refuse to change a library as if it were a folder."""
    if found.file.is_root:
        raise InvalidInput(f"The top of a library cannot be {done}.", code=Code.INVALID_REQUEST)


def _require_outside(found: AccessibleFile, parent: AccessibleFile) -> None:
    """Refuse to move something into itself."""
    mine = (found.file.drive, found.file.item)
    below = _below(parent)
    if found.file.is_root or (below is not UNKNOWN and mine in below):
        raise _no_destination("The destination is inside of what is moved.")


async def _require_replaceable(
    context: Context, access: AccessChecker, parent: AccessibleFile, name: str
) -> None:
    """What is replaced must be reachable too, or an upload would reach what is blocked."""
    query = FileQuery(name=name, order=Order(by="name", descending=False), limit=200)
    wants = access.fact_loader.file_attributes | {"name"}
    cursor: str | None = None
    while True:
        page = await translate_failures(
            context.content.files([parent.file.key], query, cursor=cursor, wanted=wants)
        )
        existing = [one for one in page.items if (one.name or "").casefold() == name.casefold()]
        for facts in await translate_failures(access.fact_loader.load_file_facts(existing)):
            access.require_allowed(facts)
        cursor = page.next
        if existing or cursor is None:
            return


async def _require_given(context: Context, key: ItemKey, permission: str) -> None:
    """Refuse to change a permission that is not there, or the owner's."""
    listed = [
        one
        for one in await translate_failures(context.content.permissions(key))
        if one.id == permission
    ]
    if not listed:
        raise NotFound("The file has no permission with this id.")
    if any(one.role == "owner" for one in listed):
        raise InvalidInput("The owner's permission stays.", code=Code.VALIDATION_ERROR)


def _share(written: ShareDriveFileInput) -> Share:
    email = None
    if written.type in (ShareType.USER, ShareType.GROUP):
        email = validate_address(written.email_address, "input.emailAddress")
    if written.type is ShareType.DOMAIN:
        require_text(written.domain, "input.domain")
    return Share(
        type=written.type.value,
        role=written.role.value,
        email=email,
        notify=written.send_notification is not False,
        message=validate_text(written.message, "input.message", most=MAX_MESSAGE),
    )


def _no_destination(message: str) -> InvalidInput:
    return InvalidInput(message, code=Code.INVALID_DESTINATION)
