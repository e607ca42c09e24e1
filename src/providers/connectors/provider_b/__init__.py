"""
Connector of Outlook mail and Outlook calendar, by Microsoft Graph.

    outlook_mail      mailboxes
    outlook_calendar  calendars
    batch             many messages in one JSON batch
    paging            listings with links to the next page
    account_cache     folders and address of an account, cached between requests
    failures          error responses as provider failures
"""
