"""Seed of the check of drafts at provider A (see ``peers/held_mail.py``)."""

import held_mail


def fill(sandbox):
    return held_mail.fill(sandbox, "provider-a")
