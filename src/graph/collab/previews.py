"""
Previews of collab writes (`providers.write_previews`).

Only what the token may read of a resource is read and shown. What upstream would refuse and a read
can tell, a taken name or an old version, is refused here: a dry run does not get to upstream.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from graph.collab.item_queries import complete_list_items, connector_attributes
from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.lookup_columns import find_hidden_columns
from policy.caller import Caller
from policy.vocabulary import CollabField, CollabOp
from providers import collab_ids
from providers.collab_ids import ItemKey, ListItemKey, ListKey
from providers.failures import Conflicted, Missing, Stale
from providers.ports.collab import Share, Upload
from providers.records.collab import File, Permission
from providers.records.mail import Participant
from providers.write_previews import Change, Recipients, Resource, current_preview

_NAME = frozenset({"name"})
_FIELDS = frozenset({"fields"})
_VERSION = frozenset({"etag"})
_RECYCLE_BIN = Resource(kind="recycleBin")


def attributes(caller_may_see: AbstractSet[str]) -> frozenset[str]:
    """Return the attributes to read besides for a preview; none without one."""
    return frozenset(caller_may_see) if current_preview() is not None else frozenset()


def shown_name(access: AccessChecker) -> frozenset[str]:
    """Return the attribute of a file's name if a preview may show it."""
    caller = access.caller
    shown = caller.allows(CollabOp.GET_FILE_METADATA) and not caller.hides(CollabField.NAME)
    return attributes(_NAME) if shown else frozenset()


async def describe_upload(access: AccessChecker, folder: File, upload: Upload) -> None:
    """
    Describe an upload into *folder*.

    Raises:
        Conflicted: The name is taken, and the upload replaces nothing.
    """
    preview = current_preview()
    if preview is None:
        return
    taken = await _find_taken(access, folder.key, upload.name)
    if taken is not None:
        if upload.conflict == "fail":
            raise _name_taken()
        preview.taken_names = (upload.name,)
    preview.target = _resource(folder)
    preview.changes = (
        _new("name", upload.name),
        _new("mimeType", upload.mime_type),
        *([_new("description", upload.description)] if upload.description else []),
    )
    preview.basis = (upload.conflict, taken and taken.etag)


async def describe_folder(
    access: AccessChecker, parent: File, name: str, description: str | None
) -> None:
    """Describe a new folder in *parent*; Conflicted if the name is taken."""
    preview = current_preview()
    if preview is None:
        return
    if await _find_taken(access, parent.key, name) is not None:
        raise _name_taken()
    preview.target = _resource(parent)
    preview.changes = (
        _new("name", name),
        *([_new("description", description)] if description else []),
    )


async def describe_renaming(access: AccessChecker, file: File, name: str, etag: str | None) -> None:
    """Describe a new name; Conflicted if another file has it, Stale if *etag* is old."""
    preview = current_preview()
    if preview is None:
        return
    _require_version(etag, file.etag)
    if isinstance(file.parent, ItemKey):
        holder = await _find_taken(access, file.parent, name)
        if holder is not None and holder.key != file.key:
            raise _name_taken()
    preview.target = _resource(file)
    preview.changes = (Change(field="name", before=file.name, after=name),)
    preview.basis = (file.etag, etag)
    preview.result = {"file_id": file.id}


async def describe_move(access: AccessChecker, file: File, folder: File, etag: str | None) -> None:
    """Describe a move; Conflicted if *folder* has a file of this name, Stale if *etag* is old."""
    preview = current_preview()
    if preview is None:
        return
    _require_version(etag, file.etag)
    if file.name is not None:
        holder = await _find_taken(access, folder.key, file.name)
        if holder is not None and holder.key != file.key:
            raise _name_taken()
    preview.target = _resource(file)
    preview.destination = _resource(folder)
    preview.basis = (file.etag, etag)
    preview.result = {"file_id": file.id}


def describe_deletion(file: File, etag: str | None) -> None:
    """Describe the deletion of a file; Stale if *etag* is old."""
    preview = current_preview()
    if preview is not None:
        _require_version(etag, file.etag)
        preview.target = _resource(file)
        preview.destination = _RECYCLE_BIN
        preview.basis = (file.etag, etag)
        preview.result = {"file_id": file.id}


def describe_share(file: File, share: Share) -> None:
    """Describe a new permission."""
    preview = current_preview()
    if preview is not None:
        preview.target = _resource(file)
        if share.email is not None:
            preview.recipients = Recipients(to=(Participant(email=share.email),))
        preview.changes = (_new("type", share.type), _new("role", share.role))
        preview.basis = (share.notify, share.message)
        preview.result = {"file_id": file.id, "role": share.role}


def describe_permission(
    account: Caller,
    file: File,
    permission_id: str,
    holders: Sequence[Permission],
    *,
    role: str | None,
) -> None:
    """Describe a change of a permission to *role*; None removes it."""
    preview = current_preview()
    if preview is None:
        return
    word = CollabField.SHARED_WITH.value
    lists_permissions = account.allows(CollabOp.GET_FILE_METADATA)
    if not lists_permissions or account.hides(CollabField.SHARED_WITH):
        preview.hidden |= {word}
    preview.target = Resource(kind="permission", id=permission_id)
    preview.changes = (Change(field="role", before=holders[0].role, after=role, masked_by=word),)
    if role is not None:
        people = (
            Participant(email=holder.email_address, name=holder.display_name)
            for holder in holders
            if holder.email_address
        )
        preview.recipients = Recipients(to=tuple(people), derived_from=(word,))
    preview.basis = (file.id,)
    preview.result = {"file_id": file.id}
    if role is not None:
        preview.result |= {"permission_id": permission_id, "role": role}


def describe_new_list_item(key: ListKey, fields: Mapping[str, object]) -> None:
    """Describe a new list item."""
    preview = current_preview()
    if preview is not None:
        preview.target = Resource(kind="list", id=collab_ids.join_list(key))
        preview.changes = tuple(_new(name, value) for name, value in fields.items())
        preview.result = {"site": key.site, "list": key.list, "number": ""}


async def describe_list_item_change(
    access: AccessChecker, key: ListItemKey, fields: Mapping[str, object], etag: str | None
) -> None:
    """Describe new values of a list item, with the values before as a query would show them."""
    preview = current_preview()
    if preview is None:
        return
    shows_values = access.caller.allows(CollabOp.READ_LIST_ITEM) and not access.caller.hides(
        CollabField.FIELD_VALUES
    )
    projection = _FIELDS if shows_values else frozenset[str]()
    hidden = await find_hidden_columns(access, key.of, projection)
    read = connector_attributes(projection) | {"etag"}
    list_item = await access.content.list_item(key, projection=read, hidden=hidden)
    _require_version(etag, list_item.etag)
    (shown,) = await complete_list_items(access, (list_item,), projection, list_name=None)
    before = shown.fields or {}
    preview.target = Resource(kind="listItem", id=list_item.id)
    preview.changes = tuple(
        Change(field=name, before=before.get(name), after=value) for name, value in fields.items()
    )
    preview.basis = (list_item.etag, etag)
    preview.result = {"site": key.site, "list": key.list, "number": key.item}


def describe_list_item_deletion(key: ListItemKey, current: str | None, etag: str | None) -> None:
    """Describe the deletion of a list item; Stale if *etag* is not the *current* one."""
    preview = current_preview()
    if preview is not None:
        _require_version(etag, current)
        preview.target = Resource(kind="listItem", id=collab_ids.join_list_item(key))
        preview.destination = _RECYCLE_BIN
        preview.basis = (current, etag)


async def _find_taken(access: AccessChecker, folder: ItemKey, name: str) -> File | None:
    """Return what has this name in *folder*; None when the name is free."""
    try:
        return await access.content.item_by_name(folder, name, projection=_VERSION)
    except Missing:
        return None


def _name_taken() -> Conflicted:
    return Conflicted(status=409, word="nameAlreadyExists")


def _require_version(expected: str | None, current: str | None) -> None:
    if expected is not None and current is not None and expected != current:
        raise Stale(status=412)


def _resource(file: File) -> Resource:
    return Resource(kind="folder" if file.is_folder else "file", id=file.id)


def _new(field: str, value: object) -> Change:
    return Change(field=field, before=None, after=value)
