"""
The calendars of both sandbox accounts.

    records     calendars, events and series, and the times in them
    ids         ids of calendars, events and occurrences, the same in every run
    store       the calendar store: reads, occurrences, writes
    recurrence  the starts of a series, from its rules and dates
    tables      the database tables behind the store
"""
