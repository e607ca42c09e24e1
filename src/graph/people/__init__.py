"""
People who may be meant by a name (docs/spec/people.md).

    queries         the root query `people`
    matches         who is meant, and who is left out
    correspondents  people in the headers of messages that a search found
    acquaintances   people that accounts know beyond their messages
    types           output types
"""
