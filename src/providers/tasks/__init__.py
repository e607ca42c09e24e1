"""
What the task providers share.

    accounts   the task accounts of a caller
    columns    board columns and the item fields derived from them
"""
