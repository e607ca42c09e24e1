"""
Several accounts' calendars read as one.

    merged_calendars   calendars, events and free-busy over all accounts of a caller
    merged_events      events by their ids, and the series that they belong to
    event_ids          public ids of events
    catalogue          the caller's calendars, under public ids
    event_matching     the meaning of every event filter
    event_reading      the extent to which a page of events reads each calendar
    readable_events    events whose times can be read
    calendar_memory    an account's list of calendars, kept for a minute
    shared_calls       the events of several calendars by one call
    freebusy           arithmetic of busy and free spans
"""
