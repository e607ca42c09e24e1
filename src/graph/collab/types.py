"""Output types of files, labels, permissions and search: docs/spec/collab.md#objects."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import strawberry

from graph.output_types import (
    INTERNAL,
    AccessInfo,
    ErrorText,
    NextPageToken,
    masked,
    output,
    output_of,
    visible,
)
from graph.scalars import JSON, Long
from policy.vocabulary import CollabField, Surface
from providers import collab_ids
from providers.catalogue.tables import KINDS
from providers.records import collab as records
from providers.records.base import Record

Warnings = Annotated[
    tuple[str, ...] | None,
    visible("One sentence per account or part that could not be read; null when all were."),
]
HasMore = Annotated[
    bool,
    visible("Whether there is another page; a page may be short or empty before the last one."),
]
Success = Annotated[bool, visible("True on success.")]


@strawberry.enum(graphql_name_from="value", description="The product that holds the content.")
class CollabProvider(StrEnum):
    locals().update({code: code for code in KINDS[Surface.COLLAB]})


@strawberry.enum(graphql_name_from="value", description="What a search hit is.")
class CollabEntityType(StrEnum):
    DRIVE_ITEM = "driveItem"
    LIST_ITEM = "listItem"
    LIST = "list"
    SITE = "site"


@output_of(records.DriveUser)
class DriveUser:
    """A person who owns a file or with whom it is shared."""

    email = visible("The e-mail address; empty when none is known.")
    display_name = visible("The display name.")
    role = visible("`owner`, `writer`, `reader` or `commenter`.")


@output_of(records.FileLabels)
class FileLabels:
    """The sensitivity label on a file."""

    sensitivity_label_id = visible("The label's GUID.")
    sensitivity_label_name = visible("The label's name.")


@output_of(records.File)
class DriveFile:
    """A file or folder."""

    id = visible("`collab:drive:{driveId}:item:{itemId}`.")
    name = masked(CollabField.NAME, "The name.")
    mime_type = masked(CollabField.MIME_TYPE, "The MIME type; null for folders.")
    size = masked(CollabField.SIZE, "Size in bytes.", graphql_type=Long | None)
    created_time = masked(CollabField.CREATED_TIME, "The time of creation.")
    modified_time = masked(CollabField.MODIFIED_TIME, "The time of the last change.")
    owners = masked(CollabField.OWNERS, "The owners.")
    shared_with = masked(CollabField.SHARED_WITH, "The people it is shared with; null in lists.")
    description = masked(CollabField.DESCRIPTION, "The description.")
    web_view_link = masked(CollabField.WEB_VIEW_LINK, "The address of its page in a browser.")
    download_link = masked(
        CollabField.DOWNLOAD_LINK,
        "The address of the download call, for tokens that may download; null in listings.",
    )
    parent_folder_id = masked(CollabField.PARENT_FOLDER, "The id of the parent folder.")
    parent_folder_name = masked(
        CollabField.PARENT_FOLDER, "The name of the parent folder; at the top, that of the library."
    )
    labels = masked(CollabField.SENSITIVITY_LABEL, "Its sensitivity label; null without one.")
    is_folder = visible("Whether it is a folder.")
    provider = visible("Always `COLLAB`.", graphql_type=CollabProvider)
    connection_id = masked(
        CollabField.CONNECTION_ID, "The connection of its account.", graphql_type=Long | None
    )


@output
class DriveFilePage(Record, frozen=True, kw_only=True):
    """A page of files and folders."""

    files: Annotated[tuple[records.File, ...], visible("The files, in order.")]
    next_page_token: NextPageToken
    has_more: HasMore
    access_info: AccessInfo
    auth_warnings: Warnings


@output
class DriveFileAnswer(Record, frozen=True, kw_only=True):
    """A file or folder."""

    file: Annotated[records.File, visible("The file.")]
    access_info: AccessInfo


@output
class DriveFileLink(Record, frozen=True, kw_only=True):
    """Links to a file; the link to its bytes works for about an hour, for anyone."""

    success: Success = True
    web_view_link: Annotated[
        str | None, masked(CollabField.WEB_VIEW_LINK, "The address of its page in a browser.")
    ] = None
    download_url: Annotated[
        str | None, masked(CollabField.DOWNLOAD_LINK, "A link that needs no credentials.")
    ] = None
    export_links: Annotated[
        Mapping[str, str] | None, visible("Always null.", graphql_type=JSON | None)
    ] = None
    file_name: Annotated[str | None, masked(CollabField.NAME, "The file's name.")] = None
    mime_type: Annotated[str | None, masked(CollabField.MIME_TYPE, "The file's MIME type.")] = None
    size: Annotated[
        int | None, masked(CollabField.SIZE, "Size in bytes.", graphql_type=Long | None)
    ] = None
    is_google_workspace_file: Annotated[bool, visible("False in every response.")] = False
    expires_at: Annotated[
        datetime | None, masked(CollabField.DOWNLOAD_LINK, "The time at which the link expires.")
    ] = None
    error_message: ErrorText = None
    error_code: ErrorText = None


@output_of(records.Permission)
class DrivePermission:
    """The permissions of a file."""

    id = visible("The provider's id of the permission.")
    type = visible("`user`, `group`, `domain` or `anyone`.")
    role = visible("`owner`, `writer`, `reader` or `commenter`.")
    email_address = masked(CollabField.SHARED_WITH, "For a user or group.")
    domain = masked(CollabField.SHARED_WITH, "For a domain.")
    display_name = masked(CollabField.SHARED_WITH, "The display name.")


@output
class DrivePermissionList(Record, frozen=True, kw_only=True):
    """The permissions of a file."""

    permissions: Annotated[tuple[records.Permission, ...], visible("In the provider's order.")]
    access_info: AccessInfo


@output
class DriveOperationResult(Record, frozen=True, kw_only=True):
    """The result of a change."""

    success: Success = True
    file_id: Annotated[str | None, visible("The id of the created or changed object.")] = None
    permission_id: Annotated[str | None, visible("The id of the created permission.")] = None
    role: Annotated[str | None, visible("The role that a permission gives.")] = None
    error_message: ErrorText = None
    error_code: ErrorText = None


@output_of(records.SensitivityLabel)
class SensitivityLabel:
    """A sensitivity label of the catalogue."""

    id = visible("A GUID, without a prefix.")
    display_name = visible("The name that people see.")
    description = visible("The description.")
    color = visible("A colour's name, or `#RRGGBB`.")
    sensitivity = visible("Higher is more sensitive.")
    tool_tip = visible("The tooltip.")
    is_active = visible("Whether it is in use.")
    is_appliable = visible("Whether it can be applied to files.")


@output
class SensitivityLabelList(Record, frozen=True, kw_only=True):
    """The sensitivity labels of the catalogue."""

    labels: Annotated[
        tuple[records.SensitivityLabel, ...], visible("Ordered by sensitivity, lowest first.")
    ]
    access_info: AccessInfo


@output
class ItemSensitivityLabel(Record, frozen=True, kw_only=True):
    """The sensitivity label of a file; its members are null without one."""

    success: Success = True
    label_id: Annotated[str | None, masked(CollabField.SENSITIVITY_LABEL, "The label's GUID.")] = (
        None
    )
    label_display_name: Annotated[
        str | None, masked(CollabField.SENSITIVITY_LABEL, "The label's name.")
    ] = None
    assignment_method: Annotated[
        str | None, masked(CollabField.SENSITIVITY_LABEL, "`standard`, `privileged` or `auto`.")
    ] = None
    assigned_date_time: Annotated[
        datetime | None,
        masked(CollabField.SENSITIVITY_LABEL, "The time at which the label was assigned."),
    ] = None
    error_message: ErrorText = None


@output
class CollabSearchHit(Record, frozen=True, kw_only=True):
    """A search hit."""

    entity_type: Annotated[str, visible("The type of the hit.", graphql_type=CollabEntityType)]
    id: Annotated[str, visible("The id, with the prefix of its kind.")]
    title: Annotated[str | None, masked(CollabField.NAME, "The name or title.")]
    summary: Annotated[
        str | None,
        visible(
            "Where the words stand, as plain text; null for a list item where rules may hide "
            "anything."
        ),
    ]
    web_url: Annotated[
        str | None, masked(CollabField.WEB_VIEW_LINK, "The address of its page in a browser.")
    ]
    last_modified_date_time: Annotated[
        datetime | None, masked(CollabField.MODIFIED_TIME, "The time of the last change.")
    ]
    target: Annotated[records.SearchHit, INTERNAL]

    @property
    def file_id(self) -> str | None:
        return None if self.target.file is None else self.target.file.id

    @property
    def list_item_id(self) -> str | None:
        return None if self.target.list_item is None else self.target.list_item.id

    @property
    def list_item_site_id(self) -> str | None:
        return None if self.target.list_item is None else self.target.list_item.site_id

    @property
    def list_item_list_id(self) -> str | None:
        return None if self.target.list_item is None else self.target.list_item.list_id

    @property
    def list_id(self) -> str | None:
        return None if self.target.list is None else self.target.list.id

    @property
    def site_id(self) -> str | None:
        """The id of the site that was hit, or of the site of a list that was hit."""
        hit = self.target.site or self.target.list
        return None if hit is None else collab_ids.join_site(hit.site)


@output
class CollabSearchPage(Record, frozen=True, kw_only=True):
    """A page of search hits."""

    hits: Annotated[
        tuple[CollabSearchHit, ...],
        visible("The hits that the token may see, best first; possibly fewer than `limit`."),
    ]
    from_: Annotated[int, visible("The index of the first hit.")]
    total: Annotated[
        int,
        visible(
            "How many there are in all, seen or not; with `collabSearchTotals: visible`, how "
            "many visible ones there are up to the end of this page."
        ),
    ]
    more_results_available: Annotated[bool, visible("Whether there is another page.")]
    access_info: AccessInfo
    auth_warnings: Warnings
