"""Output types of libraries, sites, lists and their items: docs/spec/collab.md#objects."""

from typing import Annotated

from graph.collab.types import HasMore, Success, Warnings
from graph.context import Info
from graph.output_types import (
    ACCESS_INFO,
    AccessInfo,
    NextPageToken,
    masked,
    output,
    output_of,
    visible,
)
from graph.scalars import JSON, Long
from policy.vocabulary import CollabField, Surface
from providers.records import collab as records
from providers.records.base import Record


def access_info(info: Info) -> str | None:
    """Describe the token's restrictions on the collab surface."""
    return info.context.caller.access_info(Surface.COLLAB)


@output_of(records.Drive)
class CollabDrive:
    """A document library."""

    id = visible("`collab:drive:{driveId}`.")
    name = masked(CollabField.NAME, "The name.")
    description = masked(CollabField.DESCRIPTION, "The description.")
    web_url = masked(CollabField.WEB_VIEW_LINK, "The address of its page in a browser.")
    root_folder_id = visible("The value of `folderId` for the top of the library.")


@output
class CollabDrivePage(Record, frozen=True, kw_only=True):
    """A page of document libraries."""

    drives: Annotated[tuple[records.Drive, ...], visible("Ordered by name, then id.")]
    next_page_token: NextPageToken
    has_more: HasMore
    access_info: AccessInfo


@output_of(records.Site)
class CollabSite:
    """A site."""

    id = visible("`collab:site:{hostname},{siteGuid},{webGuid}`.")
    display_name = masked(CollabField.NAME, "The name that people see.")
    name = masked(CollabField.NAME, "The name in its address.")
    description = masked(CollabField.DESCRIPTION, "The description.")
    web_url = masked(CollabField.WEB_VIEW_LINK, "The address of its page in a browser.")
    created_date_time = masked(CollabField.CREATED_TIME, "The time of creation.")
    last_modified_date_time = masked(CollabField.MODIFIED_TIME, "The time of the last change.")
    is_personal_site = visible("Whether it is a personal site.")
    connection_id = masked(
        CollabField.CONNECTION_ID, "The connection of its account.", graphql_type=Long | None
    )
    access_info = visible(ACCESS_INFO, resolver=access_info)


@output
class CollabSitePage(Record, frozen=True, kw_only=True):
    """A page of sites."""

    sites: Annotated[tuple[records.Site, ...], visible("Ordered by display name, then id.")]
    next_page_token: NextPageToken
    has_more: HasMore
    access_info: AccessInfo
    auth_warnings: Warnings


@output_of(records.Column)
class CollabColumn:
    """A column of a list."""

    name = visible("The name that filters and `fields` take.", graphql_type=str | None)
    display_name = visible("The name that people see.")
    column_type = visible(
        "`text`, `note`, `number`, `currency`, `boolean`, `dateTime`, `choice`, "
        "`multiChoice`, `lookup`, `person`, `hyperlink`, `calculated`, `geolocation`, "
        "`term`, `thumbnail`, `contentType` or `unknown`; more may come.",
        graphql_type=str | None,
    )
    hidden = visible("Whether the list is hidden.")
    read_only = visible("Whether the column is read-only.")
    required = visible("Whether every item has a value.")
    indexed = visible("Whether filters on it are fast.")


@output_of(records.SiteList)
class CollabList:
    """A list."""

    id = visible("`collab:site:{siteId}:list:{listGuid}`.")
    display_name = masked(CollabField.NAME, "The name that people see.")
    name = masked(CollabField.NAME, "The name in its address.")
    description = masked(CollabField.DESCRIPTION, "The description.")
    web_url = masked(CollabField.WEB_VIEW_LINK, "The address of its page in a browser.")
    template = visible(
        "`documentLibrary`, `genericList`, `tasks`, `events`, `contacts`, `announcements`, "
        "`links`, `issueTracking`, `survey`, `discussionBoard`, `pictureLibrary`, "
        "`webPageLibrary` or `other`; more may come."
    )
    hidden = visible("Whether the list is hidden.")
    created_date_time = masked(CollabField.CREATED_TIME, "The time of creation.")
    last_modified_date_time = masked(CollabField.MODIFIED_TIME, "The time of the last change.")
    columns = visible("Null in listings.")
    site_name = masked(CollabField.SITE_NAME, "The display name of its site.")
    access_info = visible(ACCESS_INFO, resolver=access_info)


@output
class CollabListPage(Record, frozen=True, kw_only=True):
    """A page of lists."""

    lists: Annotated[tuple[records.SiteList, ...], visible("Ordered by display name, then id.")]
    next_page_token: NextPageToken
    has_more: HasMore
    access_info: AccessInfo


@output_of(records.ListItem)
class CollabListItem:
    """An item of a list."""

    id = visible("`collab:site:…:list:{listGuid}:item:{itemId}`.")
    name = masked(CollabField.NAME, "Its title, or its file's name.")
    web_url = masked(CollabField.WEB_VIEW_LINK, "The address of its page in a browser.")
    content_type = masked(CollabField.CONTENT_TYPE, "The name of its content type.")
    created_date_time = masked(CollabField.CREATED_TIME, "The time of creation.")
    last_modified_date_time = masked(CollabField.MODIFIED_TIME, "The time of the last change.")
    fields = masked(
        CollabField.FIELD_VALUES,
        "Its values, by API names of columns. A look-up is null where the token's rules "
        "might hide an item of the list that it looks into.",
        graphql_type=JSON | None,
    )
    created_by = masked(CollabField.OWNERS, "The name of the person who created it.")
    last_modified_by = masked(CollabField.OWNERS, "The name of the person who changed it last.")
    site_name = masked(CollabField.SITE_NAME, "The display name of its site.")
    list_name = masked(CollabField.LIST_NAME, "The display name of its list.")
    labels = masked(
        CollabField.SENSITIVITY_LABEL, "The sensitivity label of its file; null without one."
    )
    connection_id = masked(
        CollabField.CONNECTION_ID, "The connection of its account.", graphql_type=Long | None
    )
    access_info = visible(ACCESS_INFO, resolver=access_info)


@output
class CollabListItemPage(Record, frozen=True, kw_only=True):
    """A page of list items."""

    items: Annotated[tuple[records.ListItem, ...], visible("The items, in order.")]
    next_page_token: NextPageToken
    has_more: HasMore
    access_info: AccessInfo
    auth_warnings: Warnings


@output
class CollabListItemDeletion(Record, frozen=True, kw_only=True):
    """The result of deleting a list item."""

    success: Success = True
