"""Forms of the console: read from the body, and refused unless a page of the session sent them."""

import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated
from urllib.parse import parse_qs, urlsplit

from fastapi import Depends, Request

from gateway.http.request_services import AppServices
from policy.refusals import AccessDenied, InvalidInput
from rest_compat.body import read_body

if TYPE_CHECKING:
    from gateway.console.sessions import Session

MAX_FORM = 128 * 1024  # bytes
MAX_FIELDS = 2_000
FORM_TOKEN = "form_token"  # noqa: S105 - the name of a member

_OTHER_PAGE = (
    "This form belongs to another session: you signed in again meanwhile, perhaps in another tab, "
    "or another site sent it. Nothing was changed. Open the page again."
)


class Form:
    """The members of a form; a name that is absent is an empty text."""

    def __init__(self, members: Mapping[str, list[str]]) -> None:
        self._members = members

    def text(self, name: str) -> str:
        """Return the last value of *name*, without blanks around it."""
        return self._members.get(name, [""])[-1].strip()

    def filled(self, *names: str) -> dict[str, str]:
        """Return the members of *names* that are not empty, as `text`."""
        return {name: text for name in names if (text := self.text(name))}

    def texts(self, name: str) -> list[str]:
        """Return all values of *name*."""
        return self._members.get(name, [])

    def number(self, name: str) -> int:
        """
        Return the whole number *name*.

        Raises:
            InvalidInput: It is none.
        """
        text = self.text(name)
        if not (text.isascii() and text.isdecimal() and len(text) < 19):
            raise InvalidInput(f"{name} must be a whole number.")
        return int(text)

    def numbers(self, name: str) -> list[int]:
        """Return the whole numbers *name*, as `number`."""
        return [Form({name: [text]}).number(name) for text in self.texts(name)]


async def read_any(request: Request) -> Form:
    """
    Return the form in the body, whoever sent it.

    Raises:
        Refusal: It is too large, too late, or cannot be read.
    """
    declared = request.headers.get("content-length")
    body = await read_body(request.receive, declared=declared, limit=MAX_FORM)
    try:
        text = body.decode("utf-8")
        members = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise InvalidInput("The form cannot be read.") from None
    return Form(members)


async def _read(request: Request, services: AppServices) -> Form:
    require_own_page(request, services.settings.base_url)
    form = await read_any(request)
    session: Session = request.state.session
    if not hmac.compare_digest(form.text(FORM_TOKEN).encode(), session.form_token.encode()):
        raise AccessDenied(_OTHER_PAGE)
    return form


SentForm = Annotated[Form, Depends(_read)]


def require_own_page(request: Request, base_url: str) -> None:
    """
    Refuse a form that a page of another site sends.

    Browsers name the origin of each form. It must be the public URL's, or that of the host which
    the request names: administrators may have a listener of their own.

    Raises:
        AccessDenied: It is another.
    """
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "same-origin")
    own = {urlsplit(base_url).netloc, request.headers.get("host", "")}
    if site != "same-origin" or (origin is not None and urlsplit(origin).netloc not in own):
        raise AccessDenied("Another site sent this form. Nothing was changed.")
