"""
Saved documents, as operators manage them.

    collection  saves, lists, reads and removes them
    batch       checks and writes those that a policy document changes
"""
