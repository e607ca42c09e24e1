"""
Accounts of the size of real ones, for measurements and tests; they are no part of the demo.

    accounts   adds all of the parts below to the accounts of a sandbox
    calendars  10,000 events in a calendar of each account
    mail       100,000 messages in each mailbox
    content    a tenant of 2,000 sites and 3,000 libraries, one of which holds 200,000 files
    tasks      a board and a project of 50,000 items each

The same day gives the same records: docs/spec/sandbox.md#volume-accounts.
"""
