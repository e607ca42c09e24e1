"""
Several accounts' calendars read as one.

    merged_calendars   calendars, events and free-busy over all accounts of a caller
    catalogue          the caller's calendars, under public ids
    event_matching     the meaning of every event filter
    freebusy           arithmetic of busy and free spans
"""
