"""
The page of sign-in, as HTML: forms without scripts, and without cookies.

Its policy allows one style sheet, and forms that lead here or back to the client of the request.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fastapi.responses import HTMLResponse

from gateway.look import pages
from gateway.secrets.keyring import Keyring
from gateway.sign_in import metadata, redirect_uris
from gateway.sign_in.requests import AuthorizationRequest
from policy import presets
from policy.caller import Caller

_FOLDER = Path(__file__).parent / "templates"
WHOLE = "0"  # days: as long as the token of the person
LIFETIMES: Mapping[str, str] = MappingProxyType(
    {"1": "1 day", "7": "7 days", "30": "30 days", "90": "90 days", WHOLE: "As long as my token"}
)


def ask_for_proof(
    request: AuthorizationRequest, keyring: Keyring, *, error: str = "", status: int = 200
) -> HTMLResponse:
    """Return the page that says who asks, and asks the person for a token."""
    return _form(request, keyring, status=status, error=error)


def ask_for_consent(
    request: AuthorizationRequest, keyring: Keyring, caller: Caller, *, error: str = ""
) -> HTMLResponse:
    """Return the page on which the person with the token of *caller* grants or declines."""
    accounts = [account for account in caller.connections if not caller.excludes(account)]
    return _form(
        request,
        keyring,
        status=400 if error else 200,
        error=error,
        choices=choices(request, caller),
        accounts=accounts,
        lifetimes=LIFETIMES.items(),
    )


def choices(request: AuthorizationRequest, caller: Caller) -> Sequence[Mapping[str, Any]]:
    """Return the presets of which the token hands anything on, those that are asked for first."""
    offered = []
    for name, preset in presets.presets_for(agents=bool(request.path)).items():
        settings = presets.settings_within(preset.settings, caller.settings)
        if presets.allows_something(settings):
            offered.append(
                {
                    "name": name,
                    "sentence": preset.sentence,
                    "differences": presets.differences(settings, caller.settings),
                    "is_wanted": name in request.scopes,
                }
            )
    return sorted(offered, key=lambda choice: not choice["is_wanted"])


def notice(title: str, text: str, *, status: int = 200) -> HTMLResponse:
    """Return a page with a sentence and no form."""
    return _page(status, "'self'", title=title, text=text)


def _form(
    request: AuthorizationRequest, keyring: Keyring, *, status: int, **values: Any
) -> HTMLResponse:
    return _page(
        status,
        f"'self' {redirect_uris.source_of(request.redirect_uri)}",
        title="An app asks for access to your accounts. It would send you back to:",
        request=request,
        destination=redirect_uris.destination_of(request.redirect_uri),
        sealed=request.sealed(keyring),
        action=metadata.PAGE,
        **values,
    )


def _page(status: int, form_action: str, **values: Any) -> HTMLResponse:
    return pages.page(_FOLDER, "page.html", status=status, form_action=form_action, **values)
