"""
Writes that wait for a person (docs/spec/held-writes.md).

    contents  what is sealed of it: the call, what a person sees, the response
    notices   wake-up calls about new ones
    store     the rows: stored, read by the token that asked, ended
"""
