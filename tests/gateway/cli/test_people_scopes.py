"""Scopes of `connection add` that an option asks for: of people, of what others share."""

import pytest

from gateway.cli.account_setup import parse
from gateway.cli.commands.connection_add import AddOptions
from gateway.connections.oauth_servers import scopes_of
from policy.refusals import InvalidInput

OWNER = ("o", 1)
GOOGLE = "https://www.googleapis.com/auth"
PEOPLE = {
    "PROVIDER_A": [
        f"{GOOGLE}/{name}.readonly" for name in ("contacts", "contacts.other", "directory")
    ],
    "PROVIDER_B": ["People.Read", "User.ReadBasic.All"],
}


def options(kind, provider, **more):
    return AddOptions(kind=kind, provider=provider, account="ada@example.org", **more)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("provider", PEOPLE)
def test_people_add_the_scopes_of_contacts_and_directory(provider, read_only):
    with_people = parse(options("email", provider, people=True, read_only=read_only), OWNER, None)
    without = parse(options("email", provider, read_only=read_only), OWNER, None)

    mail = list(scopes_of("email", provider, writing=not read_only))
    assert with_people.granted_scopes == [*mail, *PEOPLE[provider]]
    assert without.granted_scopes == (mail if read_only else [])


def test_an_own_server_has_a_scope_of_its_own_without_consent():
    server = {"server": "https://dav.example.org", "people": True}

    new = parse(options("calendar", "CALDAV", **server), OWNER, "a password")

    assert new.granted_scopes == ["carddav"]


@pytest.mark.parametrize("provider", PEOPLE)
def test_calendars_have_no_scopes_for_people(provider):
    with pytest.raises(InvalidInput, match="has no scopes for people"):
        parse(options("calendar", provider, people=True), OWNER, None)


@pytest.mark.parametrize(
    ("read_only", "scopes"),
    [(True, ["Mail.Read.Shared"]), (False, ["Mail.ReadWrite.Shared", "Mail.Send.Shared"])],
    ids=["reading", "writing"],
)
def test_shared_scopes_add_those_of_shared_mailboxes(read_only, scopes):
    more = {"shared_scopes": True, "read_only": read_only}
    new = parse(options("email", "PROVIDER_B", **more), OWNER, None)

    mail = list(scopes_of("email", "PROVIDER_B", writing=not read_only))
    assert new.granted_scopes == [*mail, *scopes]
    with pytest.raises(InvalidInput, match="has no scopes for shared mailboxes"):
        parse(options("email", "PROVIDER_A", **more), OWNER, None)
