"""
Feeds of changes (docs/spec/changes.md).

    states         what cursors name
    subscriptions  who is told that there are changes
"""
