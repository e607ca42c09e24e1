"""
Harmless checks of a connected account, for the first half hour with a real one.

docs/guides/real-accounts.md lists them.

    checks     a check, its finding, and the run of all checks of an account
    google     checks of Gmail and Google Calendar
    microsoft  checks of Outlook mail, Outlook calendars, and OneDrive and SharePoint
    tasks      checks of monday.com and Asana
    mail_server
               checks of mailboxes on own servers
    calendar_server
               checks of calendars on own servers
    catalogue  the checks of each kind and provider
"""
