"""
Contacts on an own server, by CardDAV: docs/spec/upstream/caldav.md#contacts.

    address_books  the people port of one account
    vcards         people in cards
"""
