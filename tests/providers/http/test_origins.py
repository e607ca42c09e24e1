"""The states that a process keeps of connections at origins, some of which upstreams choose."""

from providers.http import origins
from providers.http.origins import Origins

SHARED = ("account", 4)


async def test_the_least_used_states_are_dropped(monkeypatch):
    monkeypatch.setattr(origins, "_MAX_HEALTH", 3)
    made = Origins()
    home = made.health(1, "https://api.example", SHARED)

    for number in range(20):  # the host of each download is another one
        made.health(1, f"https://cdn-{number}.example", SHARED)
        assert made.health(1, "https://api.example", SHARED) is home
    assert len(made._health) == 3
    await made.aclose()


async def test_a_dropped_state_and_its_successor_share_the_slots_of_running_calls(monkeypatch):
    monkeypatch.setattr(origins, "_MAX_HEALTH", 1)
    made = Origins()
    running = made.health(1, "https://api.example", SHARED)
    made.health(1, "https://cdn.example", SHARED)

    later = made.health(1, "https://api.example", SHARED)

    assert later is not running
    assert later.slots is running.slots
    await made.aclose()
