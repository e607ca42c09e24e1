"""Histories of changes: the rows of a feed turn the listing of then into the listing of now."""


async def check_history(feed, rng, happen, listed, *, steps, **first):
    """
    Let *steps* happen, and keep a mirror of the listing by the rows of *feed*.

    Args:
        feed: Pulled after each step, in pages; some answers are lost.
        rng: Chooses.
        happen: Takes the number of a step, and changes something.
        listed: Returns the members of each listed object, by its id.
        steps: How many.
        first: Parameters of the first pull.
    """
    await feed.pull(**first)
    mirror = await listed()
    for step in range(steps):
        await happen(step)
        if rng.random() < 0.2:
            cursor = feed.cursor
            await feed.pull(limit=1)  # its answer is lost
            feed.cursor = cursor
        now, is_resynced, more = await listed(), False, True
        while more:
            for kind, name, changed in await feed.pull(limit=rng.choice((1, 3, 100))):
                if kind == "resync":
                    is_resynced = True
                elif kind == "gone":
                    mirror.pop(name, None)
                elif kind in {"created", "appeared"}:
                    mirror[name] = now[name]
                else:
                    mirror[name] |= {member: now[name][member] for member in changed}
            more = feed.answer["more"]
        if is_resynced:
            mirror = now
        assert mirror == now, step
