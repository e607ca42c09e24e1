"""Markup in texts of strangers, in every place of every page: the page has the same elements."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from held_rows import held_row
from sqlmodel import select

from gateway import look
from gateway.console import pages
from gateway.store.tables import ConnectionRow
from providers.http.failed_responses import FailedResponse

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

# Of the OWASP cheat sheet on filter evasion, and of what our templates put texts into.
MARKUP = {
    "script": "<script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "vector image": "<svg/onload=alert(1)>",
    "end of an attribute": '" autofocus onfocus=alert(1) x="',
    "end of an attribute in apostrophes": "' onmouseover='alert(1)",
    "end of a title": "</title><script>alert(1)</script>",
    "end of a text area": "</textarea><script>alert(1)</script>",
    "end of preformatted text": "</pre></bdi></li></ul></main><base href=//evil.example>",
    "end of a style": "</style><link rel=stylesheet href=//evil.example>",
    "comment": "--><script>alert(1)</script><!--",
    "character data": "]]><script>alert(1)</script>",
    "form": "<form action=//evil.example><button>Release",
    "hidden member": '"><input type=hidden name=decision value=release>',
    "refresh": "<meta http-equiv=refresh content=0;url=//evil.example>",
    "template": "{{ 7 * 7 }}{% for x in 'a' %}49{% endfor %}",
    "references": "&lt;script&gt;&#60;script&#62;alert(1)",
    "address of a script": "javascript:alert(1)",
    "right to left": "\u202e<script>\u2066alert(1)",
    "lines": "a\u2028<script>\r\nalert(1)",
    "unfinished": "<script",
}


TEMPLATES = [*pages.TEMPLATES.glob("*.html"), *Path(look.__file__).parent.glob("*.html")]
TAGS = {tag for file in TEMPLATES for tag in re.findall(r"<([a-z0-9]+)", file.read_text())}
HIDDEN = {"form_token", "id", "action", "pattern"}


class Page(HTMLParser):
    """The elements of a page, each with its attributes, and its texts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def is_harmless(tag, attributes):
    """Return whether one of our templates may have made the element."""
    address = attributes.get("href", attributes.get("action", "/"))
    return (
        tag in TAGS
        and not any(name.startswith("on") for name in attributes)
        and not {"style", "autofocus", "formaction", "src"} & attributes.keys()
        and address.startswith(("/", "?", "#"))
        and not address.startswith("//")
        and (attributes.get("type") != "hidden" or attributes["name"] in HIDDEN)
    )


@pytest.fixture
def stored(gateway, admin, token, operator, resource, log):  # noqa: PLR0917 - fixtures
    """A function that stores *text* wherever a stranger can write one; returns paths of pages."""

    async def store(text):
        services = gateway.services
        await log(
            {"operation": text[:64], "resource_id": text, "token_id": token["id"]},
            {"outcome": "refused", "layer": "operation", "code": text[:64]},
            {"outcome": "failed", "layer": "upstream", "code": "PROVIDER_ERROR", "request_id": "f"},
            {"operation": "changeToken", "actor": text[:100], "door": "admin"},
        )
        failed = FailedResponse(upstream="PROVIDER_A", connection=1, status=500, text=text)
        services.provider_errors.write("f", "PROVIDER_ERROR", [failed])
        account = {"resourceId": resource, "operatorId": operator, "kind": "email"}
        account |= {"provider": "PROVIDER_A", "accountEmail": "a@b.example"}
        number = (await admin.post("/api/connections", json=account)).json()["id"]
        rules = f"/api/access-tokens/{token['id']}/collab-rules"
        rule = {"ruleType": "mime_type", "pattern": "text/plain", "action": "allow"}
        await admin.post(rules, json={**rule, "description": text})
        async with services.database.writing() as session:
            row = (await session.exec(select(ConnectionRow))).one()
            row.status, row.status_detail = "error", text
            session.add(row)
            who = {"token_id": token["id"], "operator_id": operator}
            texts = {"subject": text, "body": text, "files": [text], "reason": text}
            for each, state in {"w1": "held", "w2": "rejected"}.items():
                session.add(held_row(services.keyring, each, state=state, **texts, **who))
        pages = ("/", "/accounts", f"/accounts/{number}", f"/tokens/{token['id']}/rules")
        held = ("/writes", "/writes?state=all", "/writes/w1", "/writes/w2")
        return [*pages, *held, "/calls", "/why", "/why/r0", "/why/r1", "/why/f", "/changes"]

    return store


@pytest.mark.slow
@pytest.mark.parametrize("name", MARKUP)
async def test_it_is_text_alone(browser, stored, name):
    text = MARKUP[name]
    shown, paths = 0, await stored(text)
    for path in paths:
        answer = await browser.open(f"/console{path}")
        assert answer.status_code == 200, path
        page = Page(answer.text)
        assert [each for each in page.elements if not is_harmless(*each)] == [], path
        assert [tag for tag, _ in page.elements].count("meta") == 2, path
        shown += any(text.split("\r")[0][:60] in each for each in page.texts)
    assert shown >= len(paths) - 3
