"""
Outlook mail and calendar by Microsoft Graph, over the stores of the sandbox.

    endpoint          dispatch of calls below a user: account, preferences, permissions
    mailbox_rights    rights of people in the shared mailbox
    responses         JSON and error responses
    batch             JSON batches
    people            relevant people, and the users of the directory
    directory         the user and the master categories
    subscriptions     notifications of changed mailboxes and calendars
    odata             OData query options
    outlook_mail      mail
    outlook_calendar  calendars
"""
