"""
Calendars by Microsoft Graph: docs/spec/upstream/outlook-calendar.md.

    calendars        the calendar port of one account
    selected_fields  `$select` for the wanted attributes
    mapping          from decoded calendars and events to records
    response_types   structs that responses are decoded into
"""
