"""
People who release held writes, and what they decide (docs/spec/held-writes.md).

    approvers  people who may do nothing else: added, listed, removed, recognized
    decisions  held writes listed, shown, released and rejected
    notices    URLs that are told of new held writes
    views      the objects of the management API
"""
