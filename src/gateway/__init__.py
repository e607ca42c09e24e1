"""
The process: it assembles the other packages and holds what operators manage.

    app           builds the application out of all services
    infrastructure  database, clients, counters and metrics below the services
    server        runs it with uvicorn, in one process or several
    graceful_stop the server's end: unready, a pause, no request lost
    lifecycle     start and end of the process
    services      the objects that routes share
    settings      every setting, from environment variables
    unknown_variables  variables that no setting reads
    provider_settings  tables of the settings by provider
    push_settings     the settings of the providers' notifications
    sign_in_settings  the settings of sign-in
    setting_types how the text of a variable becomes a value
    version       the version of the package
    errors        what a command or the database cannot do
    agents        the services of the process for agents
    http          from the socket to the handler of a request
    auth          access tokens: their text, their rows, the caller of a request
    ratelimit     rate limits in memory and in Redis
    telemetry     logs, metrics, traces
    audit         the decision log
    explain       dry runs that tell why a call is refused and what would allow it
    connections   connected accounts, their credentials and OAuth consent
    documents     the documents of the REST table, and saved documents
    rule_intents  rules of created resources, also when the process dies in between
    secrets       encryption
    store         database, tables, leases, idempotency
    held_writes   writes that wait for a person
    webhooks      signed wake-up calls to the URLs of others
    feeds         feeds of changes
    releases      runs those that a person released
    feed_polls    looks for changes in the background, for subscriptions
    child_tokens  the tokens that holders make from their own
    sign_in       applications get child tokens by OAuth
    operations    the operators' use cases, once for management API and command line
    management    the management API
    look          the style sheet and the frame of the pages
    console       the pages of administrators
    cli           the command line
    demo          the demo: gateway, sandbox and invented accounts in one process
"""

from gateway.store import sqlite as sqlite  # before anything else imports the system's
