"""
The mail and calendar servers of an address; nothing is stored.

    search  a search as an administrator asks for it
    views   its result
"""
