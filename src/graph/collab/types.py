"""Object types of the schema for files, sites, lists and search: docs/spec/collab.md#objects."""

from datetime import datetime
from enum import StrEnum

import strawberry

from graph.context import Info
from graph.scalars import JSON, Long
from policy.vocabulary import Surface
from providers.catalogue.tables import KINDS

_ACCESS_INFO = "The active restrictions of the access token in words; null when there are none."
_WARNINGS = "One sentence per account or part that could not be read; null when all were."
_NEXT = "Pass it as `pageToken` to get the next page; null on the last one."
_MORE = "Whether there is another page; a page may be short or empty before the last one."
_ERROR_CODE = "Null on success."
_ERROR_MESSAGE = "Null on success."


def access_info(info: Info) -> str | None:
    """Describe the token's restrictions on the collab surface."""
    return info.context.caller.access_info(Surface.COLLAB)


@strawberry.enum(graphql_name_from="value", description="The product that holds the content.")
class CollabProvider(StrEnum):
    locals().update({code: code for code in KINDS[Surface.COLLAB]})


@strawberry.enum(graphql_name_from="value", description="What a search hit is.")
class CollabEntityType(StrEnum):
    DRIVE_ITEM = "driveItem"
    LIST_ITEM = "listItem"
    LIST = "list"
    SITE = "site"


@strawberry.type(description="A person who owns a file or with whom it is shared.")
class DriveUser:
    email: str = strawberry.field(description="The e-mail address; empty when none is known.")
    display_name: str | None = strawberry.field(description="The display name.")
    role: str | None = strawberry.field(description="`owner`, `writer`, `reader` or `commenter`.")


@strawberry.type(description="The sensitivity label on a file.")
class FileLabels:
    sensitivity_label_id: str = strawberry.field(description="The label's GUID.")
    sensitivity_label_name: str | None = strawberry.field(description="The label's name.")


@strawberry.type(description="A file or folder.")
class DriveFile:
    id: str = strawberry.field(description="`collab:drive:{driveId}:item:{itemId}`.")
    name: str | None = strawberry.field(description="The name.")
    mime_type: str | None = strawberry.field(description="The MIME type; null for folders.")
    size: Long | None = strawberry.field(description="Size in bytes.")
    created_time: datetime | None = strawberry.field(description="The time of creation.")
    modified_time: datetime | None = strawberry.field(description="The time of the last change.")
    owners: list[DriveUser] | None = strawberry.field(description="The owners.")
    shared_with: list[DriveUser] | None = strawberry.field(
        description="The people it is shared with; null in lists."
    )
    description: str | None = strawberry.field(description="The description.")
    web_view_link: str | None = strawberry.field(
        description="The address of its page in a browser."
    )
    download_link: str | None = strawberry.field(
        description=(
            "The address of the download call, for tokens that may download; null in listings."
        )
    )
    parent_folder_id: str | None = strawberry.field(description="The id of the parent folder.")
    parent_folder_name: str | None = strawberry.field(
        description="The name of the parent folder; at the top, that of the library."
    )
    labels: FileLabels | None = strawberry.field(
        description="Its sensitivity label; null without one."
    )
    is_folder: bool = strawberry.field(description="Whether it is a folder.")
    provider: CollabProvider = strawberry.field(description="Always `COLLAB`.")


@strawberry.type(description="A page of files and folders.")
class DriveFilePage:
    files: list[DriveFile] = strawberry.field(description="The files, in order.")
    next_page_token: str | None = strawberry.field(description=_NEXT)
    has_more: bool = strawberry.field(description=_MORE)
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    auth_warnings: list[str] | None = strawberry.field(description=_WARNINGS)


@strawberry.type(description="A file or folder.")
class DriveFileAnswer:
    file: DriveFile = strawberry.field(description="The file.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)


@strawberry.type(
    description="Links to a file; the link to its bytes works for about an hour, for anyone."
)
class DriveFileLink:
    success: bool = strawberry.field(description="True on success.")
    web_view_link: str | None = strawberry.field(
        description="The address of its page in a browser."
    )
    download_url: str | None = strawberry.field(description="A link that needs no credentials.")
    export_links: JSON | None = strawberry.field(description="Always null.")
    file_name: str | None = strawberry.field(description="The file's name.")
    mime_type: str | None = strawberry.field(description="The file's MIME type.")
    size: Long | None = strawberry.field(description="Size in bytes.")
    is_google_workspace_file: bool = strawberry.field(description="False in every response.")
    expires_at: datetime | None = strawberry.field(
        description="The time at which the link expires."
    )
    error_message: str | None = strawberry.field(description=_ERROR_MESSAGE)
    error_code: str | None = strawberry.field(description=_ERROR_CODE)


@strawberry.type(description="The permissions of a file.")
class DrivePermission:
    id: str = strawberry.field(description="The provider's id of the permission.")
    type: str = strawberry.field(description="`user`, `group`, `domain` or `anyone`.")
    role: str = strawberry.field(description="`owner`, `writer`, `reader` or `commenter`.")
    email_address: str | None = strawberry.field(description="For a user or group.")
    domain: str | None = strawberry.field(description="For a domain.")
    display_name: str | None = strawberry.field(description="The display name.")


@strawberry.type(description="The permissions of a file.")
class DrivePermissionList:
    permissions: list[DrivePermission] = strawberry.field(description="In the provider's order.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)


@strawberry.type(description="The result of a change.")
class DriveOperationResult:
    success: bool = strawberry.field(description="True on success.")
    file_id: str | None = strawberry.field(description="The id of the created or changed object.")
    permission_id: str | None = strawberry.field(description="The id of the created permission.")
    role: str | None = strawberry.field(description="The role that a permission gives.")
    error_message: str | None = strawberry.field(description=_ERROR_MESSAGE)
    error_code: str | None = strawberry.field(description=_ERROR_CODE)


@strawberry.type(description="A document library.")
class CollabDrive:
    id: str = strawberry.field(description="`collab:drive:{driveId}`.")
    name: str | None = strawberry.field(description="The name.")
    description: str | None = strawberry.field(description="The description.")
    web_url: str | None = strawberry.field(description="The address of its page in a browser.")
    root_folder_id: str = strawberry.field(
        description="The value of `folderId` for the top of the library."
    )


@strawberry.type(description="A page of document libraries.")
class CollabDrivePage:
    drives: list[CollabDrive] = strawberry.field(description="Ordered by name, then id.")
    next_page_token: str | None = strawberry.field(description=_NEXT)
    has_more: bool = strawberry.field(description=_MORE)
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)


@strawberry.type(description="A site.")
class CollabSite:
    id: str = strawberry.field(description="`collab:site:{hostname},{siteGuid},{webGuid}`.")
    display_name: str | None = strawberry.field(description="The name that people see.")
    name: str | None = strawberry.field(description="The name in its address.")
    description: str | None = strawberry.field(description="The description.")
    web_url: str | None = strawberry.field(description="The address of its page in a browser.")
    created_date_time: datetime | None = strawberry.field(description="The time of creation.")
    last_modified_date_time: datetime | None = strawberry.field(
        description="The time of the last change."
    )
    is_personal_site: bool = strawberry.field(description="Whether it is a personal site.")
    access_info: str | None = strawberry.field(resolver=access_info, description=_ACCESS_INFO)


@strawberry.type(description="A page of sites.")
class CollabSitePage:
    sites: list[CollabSite] = strawberry.field(description="Ordered by display name, then id.")
    next_page_token: str | None = strawberry.field(description=_NEXT)
    has_more: bool = strawberry.field(description=_MORE)
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    auth_warnings: list[str] | None = strawberry.field(description=_WARNINGS)


@strawberry.type(description="A column of a list.")
class CollabColumn:
    name: str | None = strawberry.field(description="The name that filters and `fields` take.")
    display_name: str | None = strawberry.field(description="The name that people see.")
    column_type: str | None = strawberry.field(
        description=(
            "`text`, `note`, `number`, `currency`, `boolean`, `dateTime`, `choice`, `multiChoice`, "
            "`lookup`, `person`, `hyperlink`, `calculated`, `geolocation`, `term`, `thumbnail`, "
            "`contentType` or `unknown`; more may come."
        )
    )
    hidden: bool = strawberry.field(description="Whether the list is hidden.")
    read_only: bool = strawberry.field(description="Whether the column is read-only.")
    required: bool = strawberry.field(description="Whether every item has a value.")
    indexed: bool = strawberry.field(description="Whether filters on it are fast.")


@strawberry.type(description="A list.")
class CollabList:
    id: str = strawberry.field(description="`collab:site:{siteId}:list:{listGuid}`.")
    display_name: str | None = strawberry.field(description="The name that people see.")
    name: str | None = strawberry.field(description="The name in its address.")
    description: str | None = strawberry.field(description="The description.")
    web_url: str | None = strawberry.field(description="The address of its page in a browser.")
    template: str | None = strawberry.field(
        description=(
            "`documentLibrary`, `genericList`, `tasks`, `events`, `contacts`, `announcements`, "
            "`links`, `issueTracking`, `survey`, `discussionBoard`, `pictureLibrary`, "
            "`webPageLibrary` or `other`; more may come."
        )
    )
    hidden: bool = strawberry.field(description="Whether the list is hidden.")
    created_date_time: datetime | None = strawberry.field(description="The time of creation.")
    last_modified_date_time: datetime | None = strawberry.field(
        description="The time of the last change."
    )
    columns: list[CollabColumn] | None = strawberry.field(description="Null in listings.")
    site_name: str | None = strawberry.field(description="The display name of its site.")
    access_info: str | None = strawberry.field(resolver=access_info, description=_ACCESS_INFO)


@strawberry.type(description="A page of lists.")
class CollabListPage:
    lists: list[CollabList] = strawberry.field(description="Ordered by display name, then id.")
    next_page_token: str | None = strawberry.field(description=_NEXT)
    has_more: bool = strawberry.field(description=_MORE)
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)


@strawberry.type(description="An item of a list.")
class CollabListItem:
    id: str = strawberry.field(description="`collab:site:…:list:{listGuid}:item:{itemId}`.")
    name: str | None = strawberry.field(description="Its title, or its file's name.")
    web_url: str | None = strawberry.field(description="The address of its page in a browser.")
    content_type: str | None = strawberry.field(description="The name of its content type.")
    created_date_time: datetime | None = strawberry.field(description="The time of creation.")
    last_modified_date_time: datetime | None = strawberry.field(
        description="The time of the last change."
    )
    fields: JSON | None = strawberry.field(
        description=(
            "Its values, by API names of columns. A look-up is null where the token's rules might "
            "hide an item of the list that it looks into."
        )
    )
    created_by: str | None = strawberry.field(description="The name of the person who created it.")
    last_modified_by: str | None = strawberry.field(
        description="The name of the person who changed it last."
    )
    site_name: str | None = strawberry.field(description="The display name of its site.")
    list_name: str | None = strawberry.field(description="The display name of its list.")
    labels: FileLabels | None = strawberry.field(
        description="The sensitivity label of its file; null without one."
    )
    access_info: str | None = strawberry.field(resolver=access_info, description=_ACCESS_INFO)


@strawberry.type(description="A page of list items.")
class CollabListItemPage:
    items: list[CollabListItem] = strawberry.field(description="The items, in order.")
    next_page_token: str | None = strawberry.field(description=_NEXT)
    has_more: bool = strawberry.field(description=_MORE)
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    auth_warnings: list[str] | None = strawberry.field(description=_WARNINGS)


@strawberry.type(description="The result of deleting a list item.")
class CollabListItemDeletion:
    success: bool = strawberry.field(description="True on success.")


@strawberry.type(description="A sensitivity label of the catalogue.")
class SensitivityLabel:
    id: str = strawberry.field(description="A GUID, without a prefix.")
    display_name: str | None = strawberry.field(description="The name that people see.")
    description: str | None = strawberry.field(description="The description.")
    color: str | None = strawberry.field(description="A colour's name, or `#RRGGBB`.")
    sensitivity: int = strawberry.field(description="Higher is more sensitive.")
    tool_tip: str | None = strawberry.field(description="The tooltip.")
    is_active: bool = strawberry.field(description="Whether it is in use.")
    is_appliable: bool = strawberry.field(description="Whether it can be applied to files.")


@strawberry.type(description="The sensitivity labels of the catalogue.")
class SensitivityLabelList:
    labels: list[SensitivityLabel] = strawberry.field(
        description="Ordered by sensitivity, lowest first."
    )
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)


@strawberry.type(description="The sensitivity label of a file; its members are null without one.")
class ItemSensitivityLabel:
    success: bool = strawberry.field(description="True on success.")
    label_id: str | None = strawberry.field(description="The label's GUID.")
    label_display_name: str | None = strawberry.field(description="The label's name.")
    assignment_method: str | None = strawberry.field(
        description="`standard`, `privileged` or `auto`."
    )
    assigned_date_time: datetime | None = strawberry.field(
        description="The time at which the label was assigned."
    )
    error_message: str | None = strawberry.field(description=_ERROR_MESSAGE)


@strawberry.type(description="A search hit.")
class CollabSearchHit:
    entity_type: CollabEntityType = strawberry.field(description="The type of the hit.")
    id: str = strawberry.field(description="The id, with the prefix of its kind.")
    title: str | None = strawberry.field(description="The name or title.")
    summary: str | None = strawberry.field(
        description=(
            "Where the words stand, as plain text; null for a list item where rules may hide "
            "anything."
        )
    )
    web_url: str | None = strawberry.field(description="The address of its page in a browser.")
    last_modified_date_time: datetime | None = strawberry.field(
        description="The time of the last change."
    )


@strawberry.type(description="A page of search hits.")
class CollabSearchPage:
    hits: list[CollabSearchHit] = strawberry.field(
        description="The hits that the token may see, best first; possibly fewer than `limit`."
    )
    from_: int = strawberry.field(name="from", description="The index of the first hit.")
    total: int = strawberry.field(
        description=(
            "How many there are in all, seen or not; with `collabSearchTotals: visible`, how many "
            "visible ones there are up to the end of this page."
        )
    )
    more_results_available: bool = strawberry.field(description="Whether there is another page.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    auth_warnings: list[str] | None = strawberry.field(description=_WARNINGS)
