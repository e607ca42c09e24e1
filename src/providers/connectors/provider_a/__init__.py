"""
Connector of Gmail, Google Calendar, and the contacts and directory of Google.

    gmail            mailboxes
    google_calendar  calendars
    people           contacts, other contacts, and people of the directory
    pubsub           pulls of notifications of mailboxes
    batch            many messages in one multipart call
    paging           listings with page tokens
    account_cache    labels and address of an account, cached between requests
    failures         error responses as provider failures
    checks           checks of an account
"""

from types import MappingProxyType

from providers.catalogue.descriptors import Connector, Consent, Http, Service

_SCOPES = "https://www.googleapis.com/auth"
_IDENTITY = ("openid", "email")

CONNECTOR = Connector(
    code="PROVIDER_A",
    name="Provider A",
    sandbox_path="provider-a",
    mail_prefix="providerA",
    mail_id=r"[A-Za-z0-9_-]{1,128}",
    http=Http(classify=f"{__name__}.failures:classify", concurrency=8),
    consent=Consent(
        vendor="Google",
        client="provider_a",
        server="oauth_a",
        sandbox_path="provider-a",
        parameters=MappingProxyType({"access_type": "offline", "prompt": "consent"}),
        login_hint=True,
        loopback_host="127.0.0.1",
        has_delegation=True,
        unused_days=180,  # "six months"
        writing_scopes=frozenset({"https://mail.google.com/", f"{_SCOPES}/calendar"}),
        wider_scopes=MappingProxyType(
            {
                "gmail.readonly": ("gmail.modify", "mail.google.com"),
                "gmail.modify": ("mail.google.com",),
                "calendar.readonly": ("calendar",),
            }
        ),
    ),
    services=(
        Service(
            kind="email",
            product="Gmail",
            port=f"{__name__}.gmail.mailbox:open_port",
            checks=f"{__name__}.checks:MAIL",
            url_setting="provider_a_url",
            read_scopes=(*_IDENTITY, f"{_SCOPES}/gmail.readonly"),
            write_scopes=(*_IDENTITY, f"{_SCOPES}/gmail.modify"),
            addresses=f"{__name__}.account_cache:read_addresses",
            pushes=f"{__name__}.gmail.pushes:open_port",
            people=f"{__name__}.people:open_port",
            people_url_setting="provider_a_people_url",
            people_scopes=tuple(
                f"{_SCOPES}/{name}.readonly" for name in ("contacts", "contacts.other", "directory")
            ),
        ),
        Service(
            kind="calendar",
            product="Google Calendar",
            port=f"{__name__}.google_calendar.calendars:open_port",
            checks=f"{__name__}.checks:CALENDAR",
            url_setting="provider_a_calendar_url",
            read_scopes=(*_IDENTITY, f"{_SCOPES}/calendar.readonly"),
        ),
    ),
)
