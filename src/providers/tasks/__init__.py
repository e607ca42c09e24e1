"""
Task accounts of a caller.

    accounts   the accounts, and the one that a provider code names
"""
