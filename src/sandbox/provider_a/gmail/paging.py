"""Pages of Gmail lists. A page token is a position, so changes between pages lose no message."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator

from sandbox.http import Request
from sandbox.mail.store import StoredMail
from sandbox.provider_a.errors import GoogleError

_MAX_SIZE = 500
_DEFAULT_SIZE = 100
# Gmail's estimate for every longer result.
_ROUGH_ESTIMATE = 201
_FIRST_PAGE = "0"


def cut_page(request: Request, mails: Iterator[StoredMail]) -> tuple[list[StoredMail], str, int]:
    """
    Cut the requested page out of *mails*, which are newest first.

    Returns:
        The page, the token of the next page ("" at the end), and the estimated number of results.

    Raises:
        GoogleError: 400, the size or the token is invalid.
    """
    size = read_size(request)
    after = _read_token(request.first("pageToken"))
    page: list[StoredMail] = []
    passed = 0
    for mail in mails:
        if after is not None and (-mail.received_ms, mail.id) <= after:
            passed += 1
            continue
        if len(page) == size:
            estimate = max(_ROUGH_ESTIMATE, passed + len(page) + 1)
            return page, _write_token(page[-1]), estimate
        page.append(mail)
    return page, "", passed + len(page)


def read_size(request: Request) -> int:
    """
    Return the number of entries of a page.

    Raises:
        GoogleError: 400, it is no number.
    """
    text = request.first("maxResults", str(_DEFAULT_SIZE))
    if not re.fullmatch(r"\d{1,9}", text):
        raise GoogleError(400, f"Invalid value at 'max_results': {text}", "invalidArgument")
    return min(int(text) or _DEFAULT_SIZE, _MAX_SIZE)


def _write_token(mail: StoredMail) -> str:
    position = f"{mail.received_ms}/{mail.id}"
    return urlsafe_b64encode(position.encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str] | None:
    if token in {"", _FIRST_PAGE}:
        return None
    try:
        text = urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        received, _, name = text.partition("/")
        return -int(received), name
    except ValueError:
        raise GoogleError(400, "Invalid pageToken", "invalidArgument") from None
