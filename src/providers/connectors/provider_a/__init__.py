"""
Connector of Gmail and Google Calendar.

    gmail            mailboxes
    google_calendar  calendars
    batch            many messages in one multipart call
    paging           listings with page tokens
    account_cache    labels and address of an account, cached between requests
    failures         error responses as provider failures
"""
