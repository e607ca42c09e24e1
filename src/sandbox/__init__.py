"""
Server side of the upstream protocols, over one local database: for the demo and for tests.

    app           the ASGI application: every upstream's handlers and the control paths
    http          request, response and router of all handlers
    control       credential check, faults, and the paths that read and set them and the call log
    call_log      the newest calls of an upstream, compressed
    concurrency   limit of what an account may run at once
    quota_units   limit of what an account's calls may cost per minute
    faults        faults that tests and demos set on an upstream
    error_bodies  error responses of each upstream
    outbound      calls that the services make
    origins       the second origin, for pre-authenticated URLs
    state         the database and the stores over it
    storage       the SQLite database and tables of documents in it
    oauth         identity servers: authorize, token and device endpoints
    mail          the mail store of both mailboxes
    calendar      the calendar store of both accounts, and recurrence
    provider_a    Gmail and Google Calendar
    provider_b    Outlook mail and calendar by Microsoft Graph
    collab        OneDrive and SharePoint by Microsoft Graph
    boards        monday.com
    projects      Asana
    importing     importers of real mail, calendars, files and tables
    world         the invented company of the demo
    own_servers   Dovecot, Postfix and Radicale as further upstreams of the demo
    volume        accounts of the size of real ones, for measurements

The package imports no other package of the repository, and a connector cannot tell it from the real
upstream: see docs/adr/0019-the-sandbox-stands-apart.md and docs/spec/sandbox.md.
"""
