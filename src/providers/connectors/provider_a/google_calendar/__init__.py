"""
Calendars by the Google Calendar API: docs/spec/upstream/google-calendar.md.

    calendars         the calendar port of one account
    requested_fields  field masks for the wanted attributes
    mapping           from decoded calendars and events to records
    response_types    structs that responses are decoded into
"""
