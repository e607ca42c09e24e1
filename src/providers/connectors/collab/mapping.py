"""Mapping of responses to records: sites, libraries, files, permissions, list items."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any
from urllib.parse import unquote, urlsplit

from providers import collab_ids
from providers.collab_ids import ItemKey, ListKey
from providers.connectors.collab import response_types
from providers.content.field_selection import ALL_FIELDS, FieldSelection
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Fact
from providers.timestamps import parse_utc

LIBRARY_NAME = ""  # stands for the name of the library, which an item does not tell
_ROLES = {"owner": "owner", "write": "writer"}  # everything else is "reader"


def site(site: response_types.Site) -> records.Site | None:
    """Map a site; None when its id is malformed."""
    if not collab_ids.is_site(site.id):
        return None
    personal = site.is_personal_site
    if personal is None:
        personal = "-my." in site.id.partition(",")[0]
    return records.Site(
        site=site.id.lower(),
        display_name=site.display_name,
        name=site.name,
        description=site.description or None,
        web_url=site.web_url,
        created_date_time=parse_utc(site.created_date_time),
        last_modified_date_time=parse_utc(site.last_modified_date_time),
        is_personal_site=personal,
    )


def drive(drive: response_types.Drive, listed_in: str | None = None) -> records.Drive | None:
    """
    Map a library; None when its id is malformed.

    Args:
        drive: The response.
        listed_in: The id of the site in which it was listed.
    """
    if not collab_ids.is_part(drive.id):
        return None
    ids = drive.share_point_ids
    list_id = ids.list_id if ids is not None else None
    return records.Drive(
        drive=drive.id,
        name=drive.name,
        description=drive.description or None,
        web_url=drive.web_url,
        site=listed_in or site_of(None, ids) or UNKNOWN,
        list_id=list_id.lower() if list_id and collab_ids.is_guid(list_id) else UNKNOWN,
        root=drive.root.id
        if drive.root is not None and collab_ids.is_part(drive.root.id)
        else None,
        personal=drive.drive_type in ("business", "personal"),
    )


def site_of(
    reference: response_types.Reference | None, ids: response_types.SharepointIds | None
) -> str | None:
    """Return the composite id of an item's site; None when upstream does not tell enough."""
    site_id = reference.site_id if reference is not None else None
    if site_id and collab_ids.is_site(site_id):
        return site_id.lower()
    if ids is None or not (ids.site_id and ids.web_id and ids.site_url):
        return None
    try:
        host = urlsplit(ids.site_url).hostname
    except ValueError:
        return None
    composite = f"{host},{ids.site_id},{ids.web_id}".lower()
    return composite if collab_ids.is_site(composite) else None


def file(
    item: response_types.Item, projection: AbstractSet[str], *, within: str
) -> records.File | None:
    """
    Map a file or folder.

    Args:
        item: The response.
        projection: Attributes of `records.File`; the others stay empty, facts unknown.
        within: The drive id that was requested.

    Returns:
        None when its ids are malformed, or of another library.
    """
    reference = item.parent_reference
    drive_id = reference.drive_id if reference is not None else None
    is_of_another = drive_id is not None and not collab_ids.same_drive(drive_id, within)
    if not collab_ids.is_part(item.id) or is_of_another:
        return None
    is_folder = _is_folder(item) or (item.remote_item is not None and _is_folder(item.remote_item))
    ids = item.sharepoint_ids
    return records.File(
        drive=within,
        item=item.id,
        is_folder=is_folder,
        is_root=item.root is not None,
        is_package=item.package is not None,
        parent=_parent(item, within),
        ancestor_names=_ancestor_names(item),
        target=_target(item.remote_item),
        mime_type=None if is_folder or item.file is None else item.file.mime_type or None,
        name=item.name if "name" in projection else None,
        size=item.size if "size" in projection else None,
        created_time=parse_utc(item.created_date_time) if "created_time" in projection else None,
        modified_time=parse_utc(item.last_modified_date_time)
        if "modified_time" in projection
        else None,
        owners=_users(item.created_by, "owner") if "owners" in projection else None,
        editors=_users(item.last_modified_by, "writer") if "editors" in projection else None,
        description=(item.description or None) if "description" in projection else None,
        web_view_link=item.web_url if "web_view_link" in projection else None,
        download_link=item.download_url
        if "download_link" in projection and not is_folder
        else None,
        parent_folder_name=_parent_name(item) if "parent_folder_name" in projection else None,
        etag=item.etag if "etag" in projection else None,
        site=site_of(reference, ids) or UNKNOWN,
        list_id=_lower(ids.list_id) if ids is not None else UNKNOWN,
        list_item_id=(ids.list_item_id or UNKNOWN) if ids is not None else UNKNOWN,
        content_type_id=_content_type_id(item.list_item),
    )


def _is_folder(item: response_types.Item) -> bool:
    """Return whether an item is a folder; the facets of a shortcut's target are in its target."""
    return item.folder is not None or item.package is not None or item.root is not None


def _target(remote: response_types.Item | None) -> ItemKey | None:
    """Return the file or folder that a shortcut leads to; None without readable ids."""
    reference = remote.parent_reference if remote is not None else None
    drive_id = reference.drive_id if reference is not None else None
    if remote is None or drive_id is None:
        return None
    is_readable = collab_ids.is_part(drive_id) and collab_ids.is_part(remote.id)
    return ItemKey(drive_id, remote.id) if is_readable else None


def _parent(item: response_types.Item, within: str) -> ItemKey | records.Unknown | None:
    if item.root is not None:
        return None
    reference = item.parent_reference
    if reference is None or not reference.id or not collab_ids.is_part(reference.id):
        return UNKNOWN
    return ItemKey(within, reference.id)


def _ancestor_names(item: response_types.Item) -> tuple[str, ...] | None:
    """Return the names of the folders above an item, from the top of the library down."""
    path = item.parent_reference.path if item.parent_reference is not None else None
    _, top, names = (path or "").partition("root:")
    if item.root is not None or not top:
        return None
    return tuple(unquote(name) for name in names.split("/") if name)


def _parent_name(item: response_types.Item) -> str | None:
    """Return the name of the folder above, `LIBRARY_NAME` at the top; None when unknown."""
    reference = item.parent_reference
    if reference is None or item.root is not None:
        return None
    path = reference.path or ""
    if path.endswith("root:"):
        return LIBRARY_NAME
    return reference.name or unquote(path.rpartition("/")[2]) or None


def _users(
    identities: response_types.IdentitySet | None, role: str
) -> tuple[records.DriveUser, ...]:
    user = identities.user if identities is not None else None
    if user is None:
        return ()
    email = user.email or user.user_principal_name or ""
    return (records.DriveUser(email=email, display_name=user.display_name, role=role),)


def _content_type_id(list_item: response_types.ListItem | None) -> Fact:
    if list_item is None or list_item.content_type is None:
        return UNKNOWN
    return list_item.content_type.id or UNKNOWN


def _lower(guid: str | None) -> Fact:
    return guid.lower() if guid and collab_ids.is_guid(guid) else UNKNOWN


# -- permissions

_LINK_TYPES = {"anonymous": "anyone", "organization": "domain"}


def permissions(permission: response_types.Permission) -> list[records.Permission]:
    """Map a permission to one record, or a link to certain people to one record per person."""
    role = next((_ROLES[word] for word in ("owner", "write") if word in permission.roles), "reader")
    if permission.link is not None:
        link_type = _LINK_TYPES.get(permission.link.scope or "")
        if link_type is not None:
            return [records.Permission(id=permission.id, type=link_type, role=role)]
        people = permission.identities_v2 or permission.identities or ()
        return [_grant(permission.id, role, person, None) for person in people]
    grantee = permission.granted_to_v2 or permission.granted_to
    if grantee is None and permission.invitation is None:
        return []
    email = permission.invitation.email if permission.invitation is not None else None
    return [_grant(permission.id, role, grantee or response_types.IdentitySet(), email)]


def _grant(
    permission_id: str, role: str, grantee: response_types.IdentitySet, invited_email: str | None
) -> records.Permission:
    group = grantee.group or grantee.site_group
    person = grantee.user or grantee.site_user or grantee.application
    is_group = group is not None and person is None
    identity = (group if is_group else person) or response_types.Identity()
    other = grantee.site_user or response_types.Identity()
    email = identity.email or other.email or invited_email or identity.user_principal_name
    return records.Permission(
        id=permission_id,
        type="group" if is_group else "user",
        role=role,
        email_address=email or None,
        display_name=identity.display_name or other.display_name,
    )


# -- list items


def list_item(
    item: response_types.ListItem,
    key: ListKey,
    projection: AbstractSet[str],
    *,
    selection: FieldSelection = ALL_FIELDS,
) -> records.ListItem:
    """
    Map a list item.

    Args:
        item: The response; its id is well-formed.
        key: Its list.
        projection: Attributes of `records.Row`; the others stay empty, facts unknown.
        selection: The values that `fields` shall have.
    """
    values = item.fields or {}
    fields = {
        name: value
        for name, value in values.items()
        if "@" not in name
        and name != "id"
        and (selection.requested is None or name in selection.requested)
    }
    fields |= dict.fromkeys(selection.nulled)
    content_type = item.content_type
    return records.ListItem(
        site=key.site,
        list=key.list,
        number=item.id,
        name=_title(values, item) if "name" in projection else None,
        web_url=item.web_url if "web_url" in projection else None,
        content_type=content_type.name if content_type and "content_type" in projection else None,
        created_date_time=(
            parse_utc(item.created_date_time) if "created_date_time" in projection else None
        ),
        last_modified_date_time=(
            parse_utc(item.last_modified_date_time)
            if "last_modified_date_time" in projection
            else None
        ),
        fields=fields if "fields" in projection else None,
        created_by=_name(item.created_by) if "created_by" in projection else None,
        last_modified_by=_name(item.last_modified_by) if "last_modified_by" in projection else None,
        etag=item.etag,
        content_type_id=_content_type_id(item),
        file=_file_of_list_item(item, projection),
    )


def _title(values: Mapping[str, Any], item: response_types.ListItem) -> str | None:
    candidates = (values.get("Title"), values.get("FileLeafRef"), item.name)
    return next((text for text in candidates if isinstance(text, str) and text), None)


def _name(identities: response_types.IdentitySet | None) -> str | None:
    if identities is None:
        return None
    identity = identities.user or identities.group or identities.application
    return None if identity is None else identity.display_name or identity.email


def _file_of_list_item(
    item: response_types.ListItem, projection: AbstractSet[str]
) -> records.File | records.Unknown | None:
    """Return the file behind a list item; None when there surely is none."""
    if "file" not in projection:
        return UNKNOWN
    drive_item = item.drive_item
    if drive_item is None:
        return None
    reference = drive_item.parent_reference
    if reference is None or not reference.drive_id or not collab_ids.is_part(reference.drive_id):
        return UNKNOWN
    return file(drive_item, frozenset(), within=reference.drive_id) or UNKNOWN
