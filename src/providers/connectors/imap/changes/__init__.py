"""
Changes of the listing of an account: docs/spec/upstream/imap.md#what-has-changed.

    positions       what is kept of the folders between two reads, as text
    folder_changes  changes of one folder since its state
    waiting         waits until the inbox changes
    source          the port of changes of one account
"""
