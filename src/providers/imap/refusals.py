"""
Meaning of the refusals of mail servers: docs/spec/upstream/imap.md#refusals.

Servers name a response code (RFC 5530), or say it in words alone, in the language of their owners.
A temporary refusal of a login says nothing about the password.
"""

import math
import re
from collections.abc import Mapping
from typing import Final

from providers.catalogue.causes import Cause
from providers.failures import Broken, NeedsReauth, OutOfSpace, ProviderFailure, Throttled
from providers.imap.replies import Rejected

LATER_SECONDS = 60  # to wait after a temporary refusal that names no time
_MAX_SECONDS = 24 * 3600
SERVER_FAULT = "The mail server reports a fault of its own, such as a full disk."
LOGIN_REFUSED = "The mail server refused the user name or the password."
TOKEN_REFUSED = "The mail server refused the access token."  # noqa: S105 - a sentence
LOGIN_NOT_UNDERSTOOD = "The mail server did not understand the login."

# Response codes that say "later": RFC 5530; THROTTLED is of Gmail. LIMIT and INUSE end soon.
_BUSY: Final = frozenset({"LIMIT", "INUSE"})
_LATER: Final = frozenset({"UNAVAILABLE", "THROTTLED"})
# Commands that store something, of which OVERQUOTA says that the mailbox is full.
_STORING: Final = frozenset({"APPEND", "COPY", "MOVE", "CREATE"})

# Codes of refused logins that tell more than that (RFC 5530, 3).
_CAUSES: Final[Mapping[str, Cause]] = {
    "EXPIRED": Cause.PASSWORD_EXPIRED,
    "CONTACTADMIN": Cause.ACCOUNT_BLOCKED,
}

_CODE = re.compile(r"\A(?:NO|BAD|BYE|OK) \[([A-Z0-9-]+)", re.IGNORECASE)
_BACKOFF = re.compile(
    r"back-?off time:?\s{0,9}(\d{1,10})\s{0,9}(milliseconds|ms|seconds|s)\b", re.IGNORECASE
)
# Words of refusals that end by themselves, as servers write them in several languages.
_TEMPORARY = re.compile(
    r"too many|too frequent|max(?:imum)? (?:number of )?connections|connections? exceed|throttl"
    r"|(?:rate|frequency|connections?|sessions?|commands?|bandwidth|logins?|requests?)\W"
    r".{0,20}limit"
    r"|(?:try|retry)(?: again)? (?:later|in |after )|again later|wait .{0,20}(?:second|minute|hour)"
    r"|tempor(?:ar|är)|transient"
    r"|(?:server|service|system|backend).{0,20}(?:unavailable|not available)"
    r"|\bin use\b|\bbusy\b|overload|not connected"
    # German, French, Spanish, Italian, Portuguese, Dutch
    r"|zu viele|später|vorübergehend|zeitweilig|überlastet|nicht (?:verfügbar|erreichbar)"
    r"|trop de|plus tard|temporaire|momentané|indisponible|surchargé"
    r"|demasiad|más tarde|temporal|no disponible"
    r"|tropp[ei]|più tardi|temporane|non disponibile"
    r"|muitas|mais tarde|temporári|indisponível"
    r"|te veel|later opnieuw|tijdelijk|niet beschikbaar"
    # Polish, Swedish, Danish, Norwegian, Russian
    r"|zbyt (?:wiele|dużo)|później|tymczasow|niedostępn"
    r"|för många|senare|tillfällig|otillgänglig|for mange|senere|midlertidig"
    r"|слишком (?:много|часто)|позже|временно|недоступ"
    # Chinese, Japanese, Korean
    r"|过多|過多|频繁|頻繁|稍后|稍後|暂时|暫時|繁忙|しばらく|後ほど|一時的|混み|나중에|일시적",
    re.IGNORECASE,
)
# Of a login they say as little about the password.
_FAULT = re.compile(
    r"(?:server|system|internal|backend) error|(?<!reason )unavailable|time(?:d )?out",
    re.IGNORECASE,
)
_LOGIN: Final = frozenset({"LOGIN", "AUTHENTICATE"})
# Words of refusals that a person must answer, whatever else they say.
_PERSON = re.compile(
    r"web browser|application-specific|app password|authorization code", re.IGNORECASE
)
_CREDENTIALS = re.compile(
    r"password|passwd|credential|authenticat|log.?in failed|user", re.IGNORECASE
)


def wait_of(text: str, *, at_login: bool = False) -> int | None:
    """
    Return the seconds to wait that a refusal asks for; None where it asks for none.

    A refusal that says "later" and no time is `LATER_SECONDS`. *at_login*: a server's fault is one
    too.
    """
    backoff = _BACKOFF.search(text)
    if backoff is not None:
        unit = 1000 if backoff[2].lower() in ("milliseconds", "ms") else 1
        return max(1, min(math.ceil(int(backoff[1]) / unit), _MAX_SECONDS))
    is_temporary = _TEMPORARY.search(text) or (at_login and _FAULT.search(text))
    if is_temporary and not _PERSON.search(text):
        return LATER_SECONDS
    return None


def refusal(status: bytes, command: str) -> ProviderFailure:
    """
    Return the failure that a refused command means.

    Args:
        status: The tagged line without its tag, such as "NO [LIMIT] later".
        command: Its name, such as "FETCH".
    """
    text = status[:1000].decode("utf-8", "replace")
    code = code_of(text)
    # An existing name is "in use" for good.
    wait = None if command == "CREATE" else wait_of(text, at_login=command in _LOGIN)
    if code == "OVERQUOTA" and command in _STORING and "bandwidth" not in text.lower():
        return OutOfSpace()
    if code in _BUSY:
        return Throttled(wait if _BACKOFF.search(text) else None)
    if code in _LATER or code == "OVERQUOTA" or (wait is not None and code != "SERVERBUG"):
        return Throttled(wait or LATER_SECONDS)
    if code == "SERVERBUG":
        return Broken(SERVER_FAULT, failed=True)
    return Rejected(code, is_syntax=text[:4].upper() == "BAD ", text=text)


def refused_login(rejected: Rejected, *, by_token: bool) -> ProviderFailure:
    """Return the failure that a refused login means; BAD alone does not judge a password."""
    if rejected.is_syntax and not _CREDENTIALS.search(rejected.text):
        return Broken(LOGIN_NOT_UNDERSTOOD, failed=True)
    if rejected.code in _CAUSES:
        return NeedsReauth(cause=_CAUSES[rejected.code])
    if by_token:
        return NeedsReauth(TOKEN_REFUSED, cause=Cause.TOKEN_REFUSED)
    return NeedsReauth(LOGIN_REFUSED, cause=Cause.LOGIN_REFUSED)


def asks_for_name(rejected: Rejected) -> bool:
    """Return whether a server does not let clients in that have not sent ID (RFC 2971)."""
    return "unsafe login" in rejected.text.lower()


def farewell(line: bytes) -> ProviderFailure | None:
    """Return the failure that a BYE stands for; None: it says nothing but that it is one."""
    text = line[:1000].decode("utf-8", "replace").removeprefix("* ")
    code, wait = code_of(text), wait_of(text)
    if code in _BUSY | _LATER or wait is not None:
        return Throttled(wait or LATER_SECONDS)
    return None


def code_of(text: str) -> str:
    """Return the response code of a status in capitals, "" without one."""
    code = _CODE.match(text)
    return code[1].upper() if code else ""
