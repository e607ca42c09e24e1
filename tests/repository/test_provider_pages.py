"""The providers' pages name the scopes, variables and redirect URIs that the code uses."""

import pytest
from paths import REPOSITORY

from gateway.connections.oauth_servers import (
    CALLBACK,
    LOOPBACK_PORT,
    READ_SCOPES,
    WRITE_SCOPES,
    loopback_uri,
)
from gateway.provider_settings import client_variables

PAGES = {
    "PROVIDER_A": "google",
    "PROVIDER_B": "microsoft",
    "COLLAB": "microsoft",
    "BOARDS": "monday",
    "PROJECTS": "asana",
}


def page(provider):
    return (REPOSITORY / "docs" / "operate" / f"{PAGES[provider]}.md").read_text("utf-8")


@pytest.mark.parametrize(("kind", "provider"), WRITE_SCOPES)
def test_every_requested_scope_is_named(kind, provider):
    scopes = {*READ_SCOPES[kind, provider], *WRITE_SCOPES[kind, provider]}

    assert {scope for scope in scopes if f"`{scope}`" not in page(provider)} == set()


@pytest.mark.parametrize("provider", PAGES)
def test_the_variables_and_redirect_uris_are_named(provider):
    text = page(provider)
    # The vendor of these two ignores the port.
    port = f":{LOOPBACK_PORT}" if provider not in {"PROVIDER_B", "COLLAB"} else ""

    assert [name for name in client_variables(provider) if name not in text] == []
    assert f"`{loopback_uri(provider, 0).replace(':0/', f'{port}/')}`" in text
    assert f"https://gateway.example.com{CALLBACK}" in text
