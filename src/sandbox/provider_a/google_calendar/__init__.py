"""
The Google Calendar API, version 3.

    routes           paths, and the checks of every call
    parameters       query parameters of each path
    field_names      member names that ``fields`` may select
    calendar_access  scopes, and lookup of calendars and events
    calendars        endpoints of the calendar list, calendars and colours
    events           lists of events, single events, instances of a series
    freebusy         the endpoint of busy periods
    writing          endpoints that create, change and delete events
    event_bodies     reads an event from a request
    event_views      writes an event to a response
    times            reads and writes times
"""
