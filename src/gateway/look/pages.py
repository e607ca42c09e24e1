"""
Pages rendered from templates: one style sheet within the page, and no script.

The policy of a page allows that style sheet by its digest, and forms that lead to the named
sources; nothing may frame the page.
"""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

_FOLDER = Path(__file__).parent


def page(
    folder: Path, template: str, *, status: int = 200, form_action: str = "'self'", **values: Any
) -> HTMLResponse:
    """Return the page of a *template* in *folder*; *values* are escaped where they are shown."""
    style, digest = stylesheet()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; "
        f"form-action {form_action}; frame-ancestors 'none'"
    )
    text = Markup(style)  # noqa: S704 - a file of this package
    body = _environment(folder).get_template(template).render(style=text, **values)
    # Without a referrer, browsers would send the origin of our own forms as "null".
    headers = {"content-security-policy": policy, "referrer-policy": "same-origin"}
    return HTMLResponse(body, status, headers)


@cache
def stylesheet() -> tuple[str, str]:
    """Return the style sheet, and its digest for the policy."""
    style = (_FOLDER / "look.css").read_text("utf-8")
    return style, base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


@cache
def _environment(folder: Path) -> Environment:
    return Environment(
        loader=FileSystemLoader([folder, _FOLDER]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
