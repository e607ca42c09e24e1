"""Root mutations of files: upload, create a folder, rename, move, delete."""

from typing import Annotated, cast

import strawberry
from msgspec.structs import replace

from graph import file_content
from graph.collab import changes, ids, inputs, previews
from graph.collab.failures import translate_failures
from graph.collab.file_names import resolve_media_type, types_by_name
from graph.collab.file_queries import FileId
from graph.collab.types import DriveOperationResult
from graph.collab.visibility.access import AccessChecker, AccessibleFile
from graph.collab.visibility.auto_rules import FILE, create_with_rule
from graph.collab.visibility.folder_checks import require_contents_allowed
from graph.context import Info
from graph.execution.if_match import IfMatch, parse_if_match
from graph.masking.guards import guarded
from policy.refusals import InvalidInput
from policy.rule_facts import UNKNOWN, Facts
from policy.vocabulary import Code, CollabOp, Surface
from providers.collab_ids import ROOT, ItemKey, same_drive
from providers.content.fingerprints import FileFingerprint
from providers.ports.collab import FileQuery, Order, Upload, UploadTruncated

Argument = strawberry.argument


@guarded(CollabOp.UPLOAD_FILE)
@translate_failures
async def upload_file(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    content: Annotated[file_content.FileContent, Argument(name="input", description="The bytes.")],
    file_name: Annotated[str, Argument(description="1 to 255 characters.")],
    folder_id: Annotated[str, Argument(description="The id of the destination folder.")],
    *,
    mime_type: Annotated[
        str | None, Argument(description="The MIME type; default: derived from the file name.")
    ] = None,
    description: Annotated[str | None, Argument(description="At most 1000 characters.")] = None,
    conflict_behavior: Annotated[
        inputs.ConflictBehavior | None,
        Argument(description="What to do when the name exists already."),
    ] = inputs.ConflictBehavior.FAIL,
) -> DriveOperationResult:
    """Upload a file."""
    context, body = info.context, cast("file_content.UploadBody", content)
    name = inputs.validate_name(file_name, "fileName")
    key = ids.parse_folder(folder_id)
    upload = Upload(
        name=name,
        chunks=file_content.described_chunks(body),
        size=body.size,
        mime_type=resolve_media_type(mime_type, announced=body.mime_type, name=name),
        description=description or None,
        conflict=(conflict_behavior or inputs.ConflictBehavior.FAIL).value,
    )
    access = AccessChecker.open_for_write(context, CollabOp.UPLOAD_FILE)
    access, parent = await changes.read_destination(access, key)
    for media_type in sorted({upload.mime_type} | types_by_name(name)):
        access.require_creation(parent.facts, _child_facts(parent, mime_type=media_type))
    changes.require_takes_files(parent)
    if upload.conflict == "replace":
        await _require_replaceable(access, parent, name)
    if upload.conflict == "rename":
        context.refuse_uncertain_retry()  # it would add a second file
    await previews.describe_upload(access, parent.file, upload)

    async def store() -> DriveOperationResult:
        created = await create_with_rule(
            context,
            access.content,
            FILE,
            _fingerprint(parent, name, size=body.size, conflict=upload.conflict),
            lambda: changes.apply_naming(access.content.upload(parent.file.key, upload)),
        )
        return DriveOperationResult(file_id=created.id)

    try:
        return await store()
    except UploadTruncated as failure:
        raise InvalidInput(
            "The number of bytes differs from the announced size.", code=Code.VALIDATION_ERROR
        ) from failure
    except Exception as failure:
        if body.read_error is not None:
            raise InvalidInput(
                "The upload was interrupted.", code=Code.VALIDATION_ERROR
            ) from failure
        raise


@guarded(CollabOp.CREATE_FOLDER)
@translate_failures
async def create_folder(
    info: Info,
    written: Annotated[
        inputs.CreateDriveFolderInput, Argument(name="input", description="The folder.")
    ],
) -> DriveOperationResult:
    """Create a folder."""
    context = info.context
    name = inputs.validate_name(written.name, "input.name")
    description = written.description or None
    parent_id = written.parent_folder_id
    key = ids.parse_folder(parent_id, "parentFolderId") if parent_id else None
    access = AccessChecker.open_for_write(context, CollabOp.CREATE_FOLDER)
    if key is None:
        usable = context.caller.usable_connections(Surface.COLLAB)
        asked = {each.id for each in access.content.connections}
        context.caller.require_one([each for each in usable if each.can_write and each.id in asked])
        key = ItemKey((await access.content.default_drive()).drive, ROOT)
    access, parent = await changes.read_destination(access, key)
    access.require_creation(parent.facts, _child_facts(parent, mime_type=None))
    changes.require_takes_files(parent)
    await previews.describe_folder(access, parent.file, name, description)
    created = await create_with_rule(
        context,
        access.content,
        FILE,
        _fingerprint(parent, name, is_folder=True),
        lambda: changes.apply_naming(
            access.content.create_folder(parent.file.key, name, description=description)
        ),
    )
    return DriveOperationResult(file_id=created.id)


@guarded(CollabOp.RENAME_FILE)
@translate_failures
async def rename_file(
    info: Info,
    file_id: FileId,
    written: Annotated[
        inputs.RenameDriveFileInput, Argument(name="input", description="The new name.")
    ],
    *,
    if_match: IfMatch = None,
) -> DriveOperationResult:
    """Rename a file or folder."""
    context = info.context
    key, name = ids.parse_file(file_id), inputs.validate_name(written.new_name, "input.newName")
    tag = parse_if_match(if_match)
    access = await AccessChecker.open_for_write(context, CollabOp.RENAME_FILE).holding(key)
    projection = changes.ETAG | previews.shown_name(access)
    target = await access.read_file(key, projection=projection)
    _require_not_root(target, "renamed")
    access.require_renaming(target, types_by_name(name))
    etag = tag or target.file.etag
    await previews.describe_renaming(access, target.file, name, etag)
    renamed = await changes.apply_naming(access.content.rename(key, name, etag=etag))
    return DriveOperationResult(file_id=renamed.id)


@guarded(CollabOp.MOVE_FILE)
@translate_failures
async def move_file(
    info: Info,
    file_id: FileId,
    written: Annotated[inputs.MoveDriveFileInput, Argument(name="input", description="Where to.")],
    *,
    if_match: IfMatch = None,
) -> DriveOperationResult:
    """Move a file or folder within its library."""
    context = info.context
    key, tag = ids.parse_file(file_id), parse_if_match(if_match)
    destination = ids.parse_folder(written.destination_folder_id, "destinationFolderId")
    access = await AccessChecker.open_for_write(context, CollabOp.MOVE_FILE).holding(key)
    source = await access.read_file(key, projection=changes.ETAG | previews.shown_name(access))
    if not same_drive(destination.drive, key.drive):
        raise changes.invalid_destination("The destination is in another library.")
    access, parent = await changes.read_destination(access, destination)
    _require_not_inside(source, parent)
    new_facts = replace(source.facts, ancestors=parent.ancestors_of_children)
    access.require_creation(parent.facts, new_facts)
    changes.require_takes_files(parent)
    if source.file.is_folder:
        # Moving a folder must not make its contents accessible.
        access.require_place_allowed(source.facts, _child_facts(source, mime_type=None))
        await require_contents_allowed(access, source)
    etag = tag or source.file.etag
    await previews.describe_move(access, source.file, parent.file, etag)
    moved = await changes.apply_change(access.content.move(key, parent.file.key, etag=etag))
    return DriveOperationResult(file_id=moved.id)


@guarded(CollabOp.DELETE_FILE)
@translate_failures
async def delete_file(
    info: Info, file_id: FileId, *, if_match: IfMatch = None
) -> DriveOperationResult:
    """Move a file or folder to the recycle bin."""
    context = info.context
    key, tag = ids.parse_file(file_id), parse_if_match(if_match)
    access = await AccessChecker.open_for_write(context, CollabOp.DELETE_FILE).holding(key)
    target = await access.read_file(key, projection=changes.ETAG)
    _require_not_root(target, "deleted")
    await require_contents_allowed(access, target)
    etag = tag or target.file.etag
    previews.describe_deletion(target.file, etag)
    await changes.apply_change(access.content.delete(key, etag=etag))
    return DriveOperationResult(file_id=target.file.id)


def _fingerprint(
    parent: AccessibleFile,
    name: str,
    *,
    is_folder: bool = False,
    size: int | None = None,
    conflict: str = "fail",
) -> FileFingerprint:
    """Build the fingerprint of a file or folder that is about to be created in *parent*."""
    return FileFingerprint(
        drive=parent.file.drive,
        folder=parent.file.item,
        name=name,
        is_folder=is_folder,
        size=size,
        renames=conflict == "rename",
        replaces=conflict == "replace",
    )


def _child_facts(parent: AccessibleFile, *, mime_type: str | None) -> Facts:
    """Return the facts of a new file or folder in *parent*: its place, and its type."""
    return replace(
        parent.facts,
        item=None,
        ancestors=parent.ancestors_of_children,
        list_item_id=None,
        mime_type=mime_type,
        label_ids=frozenset(),
        content_type_id=None,
    )


def _require_not_root(target: AccessibleFile, change: str) -> None:
    """Refuse to change the root folder of a library; *change* is a participle."""
    if target.file.is_root:
        raise InvalidInput(
            f"The root folder of a library cannot be {change}.", code=Code.INVALID_REQUEST
        )


def _require_not_inside(source: AccessibleFile, parent: AccessibleFile) -> None:
    """Refuse to move a folder into itself."""
    source_key = (source.file.drive, source.file.item)
    ancestors = parent.ancestors_of_children
    if source.file.is_root or (ancestors is not UNKNOWN and source_key in ancestors):
        raise changes.invalid_destination("The destination is inside the folder to be moved.")


async def _require_replaceable(access: AccessChecker, parent: AccessibleFile, name: str) -> None:
    """Require that a file of this name in *parent* is allowed, as the upload overwrites it."""
    query = FileQuery(name=name, order=Order(by="name", descending=False), limit=200)
    projection = access.fact_loader.file_attributes | {"name"}
    cursor: str | None = None
    while True:
        page = await access.content.files(
            [parent.file.key], query, cursor=cursor, projection=projection
        )
        existing = [file for file in page.items if (file.name or "").casefold() == name.casefold()]
        for facts in await access.fact_loader.load_file_facts(existing):
            access.require_allowed(facts)
        cursor = page.next
        if existing or cursor is None:
            return
