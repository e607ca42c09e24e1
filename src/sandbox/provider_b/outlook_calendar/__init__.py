"""
Outlook calendars by Microsoft Graph.

    routes               all routes of calendars
    calendar_access      permissions, and lookup of calendars and events
    calendar_roles       roles of people in calendars of somebody else
    calendars            endpoints of calendars and calendar groups
    listing              lists of events, single events, instances of a series
    writing              endpoints that create, change, delete and answer events
    get_schedule         the endpoint of free and busy times
    event_bodies         reads an event from a request
    event_views          writes an event to a response
    recurrence_patterns  `patternedRecurrence` from a recurrence rule, and back
    time_zones           time zones by their IANA and Windows names
"""
