"""
Calendars by the Google Calendar API: docs/spec/upstream/google-calendar.md.

    calendars         the calendar port of one account
    newest_first      events by descending start, in windows
    requested_fields  field masks for the wanted attributes
    freebusy_query    busy times of several calendars at once
    mapping           from decoded calendars and events to records
    response_types    structs that responses are decoded into
"""
