"""
Records of the collaboration content; docs/spec/collab.md#objects.

Besides what callers see, records carry the facts that rules are evaluated on. `id` and the other
ids of the schema are computed, prefixed; `key` is the argument of ports. An attribute that was not
wanted is None. A wanted fact that upstream did not tell is UNKNOWN; None or empty means that there
surely is none.

    facts    facts, and the value of an unknown one
    sites    sites and their document libraries
    files    files and folders, their people and permissions
    lists    lists with their columns and items
    search   hits of a search
"""

from providers.records.collab.facts import UNKNOWN, Fact, Unknown, UnknownType
from providers.records.collab.files import (
    DriveUser,
    File,
    FileLabel,
    FileLabels,
    FileLink,
    Permission,
    SensitivityLabel,
    media_type,
    shared_with,
)
from providers.records.collab.lists import Column, ListItem, SiteList
from providers.records.collab.search import SearchHit
from providers.records.collab.sites import Drive, Site

__all__ = [
    "UNKNOWN",
    "Column",
    "Drive",
    "DriveUser",
    "Fact",
    "File",
    "FileLabel",
    "FileLabels",
    "FileLink",
    "ListItem",
    "Permission",
    "SearchHit",
    "SensitivityLabel",
    "Site",
    "SiteList",
    "Unknown",
    "UnknownType",
    "media_type",
    "shared_with",
]
