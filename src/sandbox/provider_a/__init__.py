"""
Gmail and Google Calendar over the stores of the sandbox.

    errors            errors of a call, and the check of its scopes
    partial_response  the ``fields`` parameter of both APIs
    batch             multipart batches of both APIs
    gmail             the Gmail API
    google_calendar   the Google Calendar API
"""
