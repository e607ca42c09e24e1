"""
Notifications by the providers, which wake polls (docs/spec/changes.md#notifications).

    registrations  what providers agreed to tell, in the database
    holds          registers, renews and ends
    arrivals       notes what was told, as often as a connection may wake
    calls          answers Microsoft Graph, which calls a path
    mail_pulls     pulls what Gmail tells
"""
