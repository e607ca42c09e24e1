"""
Names of response schemas, which generated clients use as names of their models.

A selection of a GraphQL type has the type's name. Another selection of the same type has other
members, so it needs a row here.
"""

from collections.abc import Mapping
from types import MappingProxyType

# Operation id, or the holder's name and the member -> the name of the schema.
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "getEmail": "EmailDetails",
        "modifyEmail": "ModifyEmailResult",
        "Thread.messages": "ThreadMessage",
        "listEventsByContact": "ContactEventList",
        "ContactEventList.events": "EventSummary",
        "TaskItem.subItems": "TaskSubItem",
        "TaskSubItem.subItems": "TaskItemReference",
        "shareFile": "FilePermissionResult",
        "updateFilePermission": "FilePermissionResult",
        "getSite": "CollabSiteDetails",
        "getCollabList": "CollabListDetails",
        "getCollabListItem": "CollabListItemDetails",
        "createListItem": "CollabListItemResult",
        "updateListItem": "CollabListItemResult",
    }
)
