"""
Calls whose write waits for a person (docs/spec/held-writes.md).

    stored_calls  the calls that are made again later, and their responses
    waiting       requests that wait for the end of such a write
"""
