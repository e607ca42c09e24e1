"""The GraphQL documents of the documented calls, one file each, fragments beside them."""

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_SPREAD = re.compile(r"\.\.\.\s*(?!on\b)([A-Za-z_]\w*)")
_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def document(name: str) -> str:
    """
    Return the text of "email/list_emails", with the fragments it uses.

    The fragment `EmailParts` stands in the file `_email_parts.graphql` of the same folder.
    """
    folder, _, file = name.rpartition("/")
    texts = [_text(folder, file)]
    wanted = _SPREAD.findall(texts[0])
    included = set[str]()
    while wanted:
        fragment = wanted.pop(0)
        if fragment not in included:
            included.add(fragment)
            texts.append(_text(folder, "_" + _WORD.sub("_", fragment).lower()))
            wanted += _SPREAD.findall(texts[-1])
    return "\n".join(texts)


def operations() -> Traversable:
    """Return the folder that holds one folder of documents per surface."""
    return files("rest_compat") / "operations"


@cache
def _text(folder: str, file: str) -> str:
    return (operations() / folder / f"{file}.graphql").read_text("utf-8")
