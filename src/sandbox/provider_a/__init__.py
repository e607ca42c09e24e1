"""
Gmail, Google Calendar and the People API over the stores of the sandbox.

    errors            errors of a call, and the check of its scopes
    partial_response  the ``fields`` parameter of both APIs
    batch             multipart batches of Gmail and Google Calendar
    people            searches of contacts, other contacts and the directory
    pubsub            subscriptions that are pulled from
    topics            topics and subscriptions
    gmail             the Gmail API
    google_calendar   the Google Calendar API
"""
