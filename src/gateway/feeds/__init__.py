"""
Feeds of changes (docs/spec/changes.md).

    states         what cursors name
"""
