"""
The feed of changes (docs/spec/changes.md): what has changed since a cursor, as the token sees it.

    state      what a cursor names: positions of providers, digests of what the token saw
    types      the output types of `changes`
    following  a call of a surface, what its connections tell, and the codes of failures
    mail       rows of mail, from the histories of the providers
    listings   rows of any listing, by comparing it with the digests
    events     the listing of a range of the calendars
    tasks      the listing of the items of all boards
    content    the listings of files and of list items
    surfaces   the table of what is followed
    queries    the root query `changes`
    subscription_port  port of the subscriptions
    subscriptions  URLs that are called when there are changes
"""
