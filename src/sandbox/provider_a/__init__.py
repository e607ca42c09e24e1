"""Provider A as a server: the mail wire (and, beside it, the calendar wire)."""
