"""
Drafts of several mailboxes, and what the connectors share about them.

    merged_drafts   reading and writing drafts by their prefixed ids
"""
