"""Why a call is refused, and what would let it pass: found out by rehearsing it."""
