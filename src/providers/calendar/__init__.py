"""
Several accounts' calendars read as one.

    merged_calendars   calendars, events and free-busy over all accounts of a caller
    catalogue          the caller's calendars, under public ids
    event_matching     the meaning of every event filter
    event_reading      the extent to which a page of events reads each calendar
    freebusy           arithmetic of busy and free spans
"""
