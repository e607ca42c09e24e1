"""
Drafts of several mailboxes, and what the connectors share about them.

    merged_drafts   reading and writing drafts by their prefixed ids
    editing         changes of raw drafts that keep every other byte
    raw_message     the parts of a raw message with their places
"""
