"""Changes in the calendars of `calendar_world`, and tokens that follow them."""

from dataclasses import replace

import calendar_world
from calendar_world import at, meeting
from world import ADMIN


def change(agendas, name, **members):
    """Change members of a planted event, as its owner does."""
    event = agendas.events[name]
    stored = replace(event, content=replace(event.content, **members))
    agendas.events[name] = agendas.world.sandbox.state.calendars.put(stored)


def plant(agendas, name, title="Talk", calendar="work", days=1, **members):
    content = meeting(at(days, "09:00"), at(days, "10:00"), title, **members)
    agendas.plant(calendar, name, content)


async def make_token(agendas, **settings):
    body = {
        "name": "feed",
        "operatorId": agendas.world.operator_id,
        "resourceIds": [1],
        "settings": {**calendar_world.EVERYTHING, **settings},
    }
    async with agendas.client(ADMIN) as admin:
        made = await admin.post("/api/access-tokens", json=body)
    assert made.status_code == 201, made.text
    return made.json()


async def set_token(agendas, token, **settings):
    url = f"/api/access-tokens/{token['id']}"
    async with agendas.client(ADMIN) as admin:
        changed = await admin.patch(url, json={"settings": settings})
    assert changed.status_code == 200, changed.text
