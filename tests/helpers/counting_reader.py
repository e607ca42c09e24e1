"""A row reader that counts the rules it reads."""


class CountingReader:
    """Counts the rows of rules that an authenticator reads."""

    def __init__(self, reader):
        self._reader = reader
        self.rules_read = 0

    async def rows(self, query, values):
        rows = await self._reader.rows(query, values)
        if "FROM collab_rules" in query:
            self.rules_read += len(rows)
        return rows

    def close(self):
        self._reader.close()
