"""
The calendars of the demo world, three in each of Nora's two accounts.

    events      writes both accounts' calendars into a calendar store
    calendars   the calendars, and the parser of the planned meetings in `sandbox.world.mail.texts`
    meetings    a planned meeting and its occurrences, independent of any API
    edge_cases  events without title or length, with many attendees, in other zones
    odd_events  events of a calendar file in forms that are easily read wrong
"""
