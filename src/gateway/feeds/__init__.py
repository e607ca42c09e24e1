"""
Feeds of changes (docs/spec/changes.md).

    states         what cursors name
    stream         the call that answers with events when a cursor has rows
    streams        what the open ones of a process share: places, checks of tokens, the stop
    agent_feed     the feed for agents: a resource, and listening to it
    subscriptions  who is told that there are changes
    wakes          waits for changes, which wake streams and subscriptions
    push           notifications by the providers
"""
