"""
The connectors that there are: docs/adr/0048-a-connector-is-one-descriptor.md.

    descriptors  what a connector says of itself
    causes       why connections stop working: codes, reasons, remedies
    tables       the connectors, and the tables made of their descriptors
"""
