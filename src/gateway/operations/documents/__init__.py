"""
Saved documents, as operators manage them.

    views       the objects of the management API
    collection  saves, lists, reads and removes them
    batch       checks and writes those that a policy document changes
"""
