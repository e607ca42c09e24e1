"""
The mail of both sandbox mailboxes, stored as raw RFC 5322 messages.

    records        messages, labels and accounts as the store returns them
    ids            ids of messages, conversations and labels, the same in every run
    store          the mail store: reads, writes, labels, threads
    mailbox_index  one mailbox in memory, indexed
    history        log of changes and deletions, kept for a bounded time
    tables         the database tables behind the store
    delivery       sending: the sender's copy, and delivery to the sandbox's own mailboxes
    normalization  Unicode composition, for searches
    addresses      address headers, as tolerant servers read them
    dates          date headers, likewise
    charsets       decoding of text by its charset
    mime           parser of raw messages: a tree of MIME parts
"""
