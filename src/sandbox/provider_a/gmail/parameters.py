"""Query parameters of each Gmail path; all others are rejected."""

from collections.abc import Mapping
from types import MappingProxyType

from sandbox.http import Request
from sandbox.provider_a.errors import GoogleError

COMMON_PARAMETERS = frozenset(
    {
        "$.xgafv",
        "access_token",
        "alt",
        "callback",
        "fields",
        "key",
        "oauth_token",
        "prettyPrint",
        "quotaUser",
        "uploadType",
        "upload_id",
        "upload_protocol",
    }
)
_LIST = frozenset({"includeSpamTrash", "labelIds", "maxResults", "pageToken", "q"})
_GET = frozenset({"format", "metadataHeaders"})
_ADD = frozenset({"deleted", "internalDateSource"})

# (method, path below the user); "*" stands for an id
_PARAMETERS: Mapping[tuple[str, ...], frozenset[str]] = MappingProxyType(
    {
        ("GET", "messages"): _LIST,
        ("GET", "messages", "*"): _GET,
        ("POST", "messages"): _ADD,
        ("POST", "messages", "import"): _ADD | {"neverMarkSpam", "processForCalendar"},
        ("GET", "threads"): _LIST,
        ("GET", "threads", "*"): _GET,
        ("GET", "drafts"): _LIST - {"labelIds"},
        ("GET", "drafts", "*"): frozenset({"format"}),
        ("GET", "history"): frozenset(
            {"historyTypes", "labelId", "maxResults", "pageToken", "startHistoryId"}
        ),
    }
)


def check(request: Request, path: tuple[str, ...]) -> None:
    """
    Check the query parameters of a call; *path* is the path below the user.

    Raises:
        GoogleError: 400 for the first unknown parameter.
    """
    exact = (request.method, *path)
    pattern = (*exact[:2], "*") if len(exact) == 3 and exact not in _PARAMETERS else exact
    known = _PARAMETERS.get(pattern, frozenset()) | COMMON_PARAMETERS
    for name, _ in request.query:
        if name not in known:
            raise GoogleError(
                400,
                f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query'
                f" parameter. Field '{name}' could not be found in request message.",
                "invalid",
            )
