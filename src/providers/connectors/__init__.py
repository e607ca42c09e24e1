"""
The connectors: one package per upstream; none imports another.

    provider_a   Gmail and Google Calendar
    provider_b   Outlook mail and Outlook calendar, by Microsoft Graph
    imap         mailboxes on the owners' own servers
    caldav       calendars on the owners' own servers
    collab       OneDrive and SharePoint (sites, libraries, files, lists), by Microsoft Graph
    boards       monday.com: task boards, by GraphQL
    projects     Asana: task projects, by REST

Only this documentation names vendors; provider codes are neutral. The protocols:
docs/spec/upstream/README.md.
"""
