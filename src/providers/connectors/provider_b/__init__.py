"""
Connector of Outlook mail and Outlook calendar, by Microsoft Graph.

    outlook_mail      mailboxes
    outlook_calendar  calendars
    batch             many messages in one JSON batch
    graph_user        the user below which a connection's calls go
    paging            listings with links to the next page
    people            relevant people, and users of the directory
    pushes            notifications of mail and calendars
    account_cache     folders and address of an account, cached between requests
    failures          error responses as provider failures
    checks            checks of an account
"""

from providers.catalogue.descriptors import (
    IDENTITY_OF_MICROSOFT,
    MICROSOFT,
    Connector,
    Http,
    Service,
)

CONNECTOR = Connector(
    code="PROVIDER_B",
    name="Provider B",
    sandbox_path="provider-b",
    mail_prefix="providerB",
    mail_id=r"[A-Za-z0-9+/=_-]{1,512}",
    http=Http(
        classify=f"{__name__}.failures:classify",
        concurrency=4,
        # docs/spec/upstream/README.md#pre-authenticated-addresses
        content_hosts=("outlook.office.com", "outlook.office365.com", "outlook.office365.us"),
    ),
    consent=MICROSOFT,
    services=(
        Service(
            kind="email",
            product="Outlook",
            port=f"{__name__}.outlook_mail.mailbox:open_port",
            checks=f"{__name__}.checks:MAIL",
            url_setting="provider_b_url",
            read_scopes=(*IDENTITY_OF_MICROSOFT, "Mail.Read", "User.Read"),
            write_scopes=(*IDENTITY_OF_MICROSOFT, "Mail.ReadWrite", "Mail.Send", "User.Read"),
            addresses="providers.microsoft_user:read_addresses",
            pushes=f"{__name__}.pushes:open_mail_port",
            people=f"{__name__}.people:open_port",
            people_scopes=("People.Read", "User.ReadBasic.All"),
            shares=True,
            shared_read_scopes=("Mail.Read.Shared",),
            shared_write_scopes=("Mail.ReadWrite.Shared", "Mail.Send.Shared"),
        ),
        Service(
            kind="calendar",
            product="Outlook calendar",
            port=f"{__name__}.outlook_calendar.calendars:open_port",
            checks=f"{__name__}.checks:CALENDAR",
            url_setting="provider_b_url",
            read_scopes=(*IDENTITY_OF_MICROSOFT, "Calendars.Read", "User.Read"),
            addresses="providers.microsoft_user:read_addresses",
            pushes=f"{__name__}.pushes:open_calendar_port",
            shares=True,
            shared_read_scopes=("Calendars.Read.Shared",),
        ),
    ),
)
