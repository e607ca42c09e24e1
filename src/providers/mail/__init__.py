"""
Several mailboxes read as one, and what mail connectors share.

    merged_mailbox   search, read and write over all mailboxes of a caller
    merging          one page out of the mailboxes' answers
    scanning         reading a mailbox page by page until enough messages match
    lazy_records     messages mapped to records only when they are read
    query_matching   the meaning of every mail filter
    quoting          bodies and subjects of replies and forwards
    delivery         sends whose response is lost
"""
