"""Rows of the decision log that two ways of doing the same leave, made comparable."""

# What differs between two equal changes: time, place, request, and ids of rows.
_OWN = {"id", "at", "requestId", "durationMs"}
_IDS = {"resourceId", "tokenId", "operatorId"}


async def changes(admin, *, after=0):
    """Return the rows of changes behind the id *after*, oldest first, and the last id."""
    answer = await admin.get("/api/decisions", params={"limit": 200})
    listed = answer.json()["decisions"][::-1]
    rows = [row for row in listed if row["actor"] and row["id"] > after]
    rows = [row for row in rows if row["operation"] != "signInConsole"]
    return rows, max([after, *(row["id"] for row in listed)])


def alike(rows):
    """Return *rows* without what differs between two equal changes; ids become their presence."""
    return [
        {
            name: (value is not None if name in _IDS else value)
            for name, value in row.items()
            if name not in _OWN
        }
        for row in rows
    ]
