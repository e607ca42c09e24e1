"""
Selectors of a search, `author:jonas`, and the mask words that govern the fields they read.

The search engine upstream knows more names than any table, so an unknown name needs every word. Its
parser is not known either: whatever an operator follows counts as a selector, however it is
written: docs/spec/masks.md#collab-search.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType

from policy.caller import Caller
from policy.vocabulary import CollabField

# Mask word -> the selectors that read its fields.
_SELECTORS_BY_WORD: Mapping[CollabField, tuple[str, ...]] = MappingProxyType(
    {
        CollabField.NAME: ("title", "filename", "name"),
        CollabField.MIME_TYPE: ("filetype", "fileextension"),
        CollabField.OWNERS: (
            "author",
            "createdby",
            "modifiedby",
            "editor",
            "authorowsuser",
            "editorowsuser",
            "lastmodifiedby",
        ),
        CollabField.WEB_VIEW_LINK: (
            "path",
            "url",
            "originalpath",
            "parentlink",
            "serverredirectedurl",
            "spsiteurl",
            "spweburl",
            "site",
        ),
        CollabField.CONTENT_TYPE: ("contenttype", "contenttypeid", "contentclass", "spcontenttype"),
        CollabField.MODIFIED_TIME: (
            "lastmodified",
            "lastmodifiedtime",
            "write",
            "modifiedowsdate",
            "lastmodifiedtimeforretention",
        ),
        CollabField.CREATED_TIME: ("created", "createdowsdate"),
        CollabField.SIZE: ("size",),
        CollabField.DESCRIPTION: ("description",),
        CollabField.SHARED_WITH: ("sharedwithusersowsuser", "sharedwithdetails"),
        CollabField.SENSITIVITY_LABEL: ("informationprotectionlabelid", "sensitivitylabel"),
        CollabField.SITE_NAME: ("sitename", "sitetitle"),
        CollabField.PARENT_FOLDER: ("parentlink",),
    }
)
# Selectors of structural fields, which need no word.
_STRUCTURAL = ("isdocument", "iscontainer", "listid", "siteid")

WORDS_BY_SELECTOR: Mapping[str, tuple[CollabField, ...]] = MappingProxyType(
    {
        **dict.fromkeys(_STRUCTURAL, ()),
        **{
            selector: tuple(word for word, names in _SELECTORS_BY_WORD.items() if selector in names)
            for selectors in _SELECTORS_BY_WORD.values()
            for selector in selectors
        },
    }
)
# No provider knows the connections of the gateway.
_EVERY_WORD = tuple(word for word in CollabField if word is not CollabField.CONNECTION_ID)
_OPERATOR = re.compile(r"[:=<>]+")
_QUOTED = re.compile(r'"[^"]*"')
# Quotation marks that an engine may or may not take for one: then nothing counts as quoted.
_OTHER_QUOTES = frozenset("\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\uff02\u301d\u301e")


def require_unmasked_selectors(text: str, caller: Caller) -> None:
    """Raise FieldNotVisible if a selector in *text* reads a field that is hidden from *caller*."""
    for name in selectors(text):
        words = WORDS_BY_SELECTOR.get(name, _EVERY_WORD)
        caller.require_visible(f"The selector '{name}'", *words)


def selectors(text: str) -> Iterator[str]:
    """
    Yield what stands before each operator outside of quotes, in lower case and without signs.

    A web address (`https://`) is not a selector. What is not a name, such as a phrase, is yielded
    as it stands: it is unknown then.
    """
    if _OTHER_QUOTES.isdisjoint(text):
        text = _QUOTED.sub(' "" ', text)
    parts = _OPERATOR.split(unicodedata.normalize("NFKC", text))
    for before, after in pairwise(parts):
        tokens = before.replace("(", " ").replace(")", " ").split()
        if not tokens:
            continue
        name = tokens[-1].lstrip("+-").casefold()
        if name and not (name in ("http", "https") and after.startswith("//")):
            yield name
