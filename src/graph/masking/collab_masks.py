"""
Mask words of the collab types: which word hides which field (docs/spec/masks.md#collab-fields).

A hit's summary depends on two words, so it is not in the table: `search_queries` hides it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from policy.vocabulary import CollabField

# One row per word, in the order of the specification.
WORDS: tuple[tuple[CollabField, tuple[str, ...]], ...] = (
    (
        CollabField.NAME,
        (
            "DriveFile.name",
            "DriveFileLink.fileName",
            "CollabDrive.name",
            "CollabSite.displayName",
            "CollabSite.name",
            "CollabList.displayName",
            "CollabList.name",
            "CollabListItem.name",
            "CollabSearchHit.title",
        ),
    ),
    (CollabField.MIME_TYPE, ("DriveFile.mimeType", "DriveFileLink.mimeType")),
    (CollabField.SIZE, ("DriveFile.size", "DriveFileLink.size")),
    (
        CollabField.CREATED_TIME,
        (
            "DriveFile.createdTime",
            "CollabSite.createdDateTime",
            "CollabList.createdDateTime",
            "CollabListItem.createdDateTime",
        ),
    ),
    (
        CollabField.MODIFIED_TIME,
        (
            "DriveFile.modifiedTime",
            "CollabSite.lastModifiedDateTime",
            "CollabList.lastModifiedDateTime",
            "CollabListItem.lastModifiedDateTime",
            "CollabSearchHit.lastModifiedDateTime",
        ),
    ),
    (
        CollabField.OWNERS,
        ("DriveFile.owners", "CollabListItem.createdBy", "CollabListItem.lastModifiedBy"),
    ),
    (
        CollabField.SHARED_WITH,
        (
            "DriveFile.sharedWith",
            "DrivePermission.emailAddress",
            "DrivePermission.domain",
            "DrivePermission.displayName",
            "DrivePermission.person",
        ),
    ),
    (
        CollabField.DESCRIPTION,
        (
            "DriveFile.description",
            "CollabDrive.description",
            "CollabSite.description",
            "CollabList.description",
        ),
    ),
    (
        CollabField.WEB_VIEW_LINK,
        (
            "DriveFile.webViewLink",
            "DriveFileLink.webViewLink",
            "CollabDrive.webUrl",
            "CollabSite.webUrl",
            "CollabList.webUrl",
            "CollabListItem.webUrl",
            "CollabSearchHit.webUrl",
        ),
    ),
    (
        CollabField.DOWNLOAD_LINK,
        (
            "DriveFile.downloadLink",
            "DriveFile.text",
            "DriveFileLink.downloadUrl",
            "DriveFileLink.expiresAt",
        ),
    ),
    (
        CollabField.PARENT_FOLDER,
        ("DriveFile.parentFolderId", "DriveFile.parentFolderName", "DriveFile.parent"),
    ),
    (
        CollabField.SENSITIVITY_LABEL,
        (
            "DriveFile.labels",
            "CollabListItem.labels",
            "ItemSensitivityLabel.labelId",
            "ItemSensitivityLabel.labelDisplayName",
            "ItemSensitivityLabel.assignmentMethod",
            "ItemSensitivityLabel.assignedDateTime",
        ),
    ),
    (CollabField.SITE_NAME, ("CollabList.siteName", "CollabListItem.siteName")),
    (CollabField.LIST_NAME, ("CollabListItem.listName",)),
    (CollabField.CONTENT_TYPE, ("CollabListItem.contentType",)),
    (CollabField.FIELD_VALUES, ("CollabListItem.fields",)),
)

_PAGE = ("nextPageToken", "hasMore", "accessInfo")
_RESULT = ("success", "errorMessage", "errorCode")

# Type -> its structural fields.
STRUCTURAL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "DriveUser": ("email", "displayName", "role", "person"),
        "FileLabels": ("sensitivityLabelId", "sensitivityLabelName"),
        "DriveFile": (
            "id",
            "isFolder",
            "provider",
            "children",
            "drive",
            "site",
            "listItem",
            "permissions",
            "sensitivityLabel",
        ),
        "DriveFilePage": ("files", *_PAGE, "authWarnings"),
        "DriveFileAnswer": ("file", "accessInfo"),
        "DriveFileLink": (*_RESULT, "exportLinks", "isGoogleWorkspaceFile"),
        "DrivePermission": ("id", "type", "role"),
        "DrivePermissionList": ("permissions", "accessInfo"),
        "DriveOperationResult": (*_RESULT, "fileId", "permissionId", "role"),
        "CollabDrive": ("id", "rootFolderId", "files"),
        "CollabDrivePage": ("drives", *_PAGE),
        "CollabSite": ("id", "isPersonalSite", "accessInfo", "drives", "lists"),
        "CollabSitePage": ("sites", *_PAGE, "authWarnings"),
        "CollabColumn": (
            "name",
            "displayName",
            "columnType",
            "hidden",
            "readOnly",
            "required",
            "indexed",
        ),
        "CollabList": ("id", "template", "hidden", "columns", "accessInfo", "items"),
        "CollabListPage": ("lists", *_PAGE),
        "CollabListItem": ("id", "accessInfo", "list", "file"),
        "CollabListItemPage": ("items", *_PAGE, "authWarnings"),
        "CollabListItemDeletion": ("success",),
        "SensitivityLabel": (
            "id",
            "displayName",
            "description",
            "color",
            "sensitivity",
            "toolTip",
            "isActive",
            "isAppliable",
        ),
        "SensitivityLabelList": ("labels", "accessInfo"),
        "ItemSensitivityLabel": ("success", "errorMessage"),
        "CollabSearchHit": ("entityType", "id", "summary", "file", "listItem", "list", "site"),
        "CollabSearchPage": (
            "hits",
            "from",
            "total",
            "moreResultsAvailable",
            "accessInfo",
            "authWarnings",
        ),
    }
)
QUERIES = (
    "collabFiles",
    "collabFile",
    "collabFileLink",
    "collabFileText",
    "collabFilePermissions",
    "collabDrives",
    "collabDrive",
    "collabSites",
    "collabSite",
    "collabLists",
    "collabList",
    "collabListItems",
    "collabListItem",
    "sensitivityLabels",
    "fileSensitivityLabel",
    "collabSearch",
)
MUTATIONS = (
    "uploadFile",
    "createFolder",
    "renameFile",
    "moveFile",
    "deleteFile",
    "shareFile",
    "updateFilePermission",
    "deleteFilePermission",
    "createListItem",
    "updateListItem",
    "deleteListItem",
)
