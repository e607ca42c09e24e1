"""
The connector to the collaboration content, over its wire protocol.

    connection          CollabConnection: the parts of one connection, put together
    connection_context  what the parts share: upstream client, page reader, cache
    files, lists, search  the parts
    paging              pages of collections, and cursors
    batch               many reads in one call
    selected_fields     selection options for the wanted attributes
    response_types      typed JSON responses
    mapping             responses to records
    failures            classification of error responses
    checks              checks of an account
    ttl_cache           what is cached between requests
"""

from providers.catalogue.descriptors import (
    IDENTITY_OF_MICROSOFT,
    MICROSOFT,
    Connector,
    Http,
    Service,
)

CONNECTOR = Connector(
    code="COLLAB",
    name="COLLAB",
    sandbox_path="collab",
    http=Http(
        classify=f"{__name__}.failures:classify",
        concurrency=8,
        # docs/spec/upstream/README.md#pre-authenticated-addresses
        content_hosts=(
            *(".sharepoint.com", ".sharepoint.us", ".sharepoint-mil.us", ".dps.mil"),
            *(".sharepoint.cn", ".sharepoint.de", ".svc.ms", ".1drv.com"),
            *(".livefilestore.com", ".storage.live.com", ".microsoftpersonalcontent.com"),
            *("api.onedrive.com", "onedrive.live.com"),
        ),
    ),
    consent=MICROSOFT,
    services=(
        Service(
            kind="collab",
            product="SharePoint and OneDrive",
            port=f"{__name__}.connection:open_port",
            checks=f"{__name__}.checks:CONTENT",
            url_setting="collab_url",
            read_scopes=(
                *(*IDENTITY_OF_MICROSOFT, "Files.Read.All", "Sites.Read.All"),
                *("SensitivityLabel.Read", "User.Read"),
            ),
            write_scopes=(
                *(*IDENTITY_OF_MICROSOFT, "Files.ReadWrite.All", "Sites.ReadWrite.All"),
                *("SensitivityLabel.Read", "User.Read"),
            ),
            addresses="providers.microsoft_user:read_addresses",
        ),
    ),
)
