"""
People who may be meant by a name (docs/spec/people.md).

    queries         the root query `people`
    correspondents  people in the headers of messages that a search found
    types           output types
"""
