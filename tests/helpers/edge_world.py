"""More objects of each type in a world with every surface, so that lists have several of them."""

import calendar_world
import content_world
import task_world
import whole_world
import world as worlds

from sandbox.boards.store import BoardStore
from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder
from sandbox.collab.files import items

PEOPLE = (worlds.ANA, worlds.BO, worlds.CARLA, "Dan <dan@else.example>")


def fill(world: whole_world.WholeWorld) -> dict[str, str]:
    """Fill every surface, lift the providers' limits; return the ids that documents use."""
    sandbox = world.world.sandbox
    sandbox.upstreams["providerA"].quota.allowance = None
    sandbox.state.content.settings.units = None
    calendar_world.fill(world.agendas)
    _add_items(sandbox, world.parameters)
    _add_tasks(world.tasks)
    links = _links(world)
    _add_mails(sandbox, links)
    _add_events(world.agendas, links)
    connecting = task_world.connect(world.world, world.tasks, "PROJECTS", resource=worlds.MAIN)
    world.runner.run(connecting)
    return {
        **world.parameters,
        "libraryId": _add_content(sandbox, world.parameters),
        "projectId": world.tasks["pavilion"],
    }


def _links(world):
    """Return web addresses of files, of task items, and of nothing."""
    content = world.world.sandbox.state.content
    files = [item for item in content.every(r.Item) if item.parent_id and not item.is_folder]
    board, item, task = world.parameters["boardId"], world.parameters["itemId"], world.tasks["roof"]
    return [
        *(items.web_url(content, file) for file in files[:9]),
        f"https://rowing.boards.example/boards/{board}/pulses/{item}",
        f"https://app.projects.example/1/11/task/{task}",
        f"https://app.projects.example/1/11/task/{task}9",
        f"https://rowing.boards.example/boards/{board}/pulses/{item}9",
        f"{files[0] and items.web_url(content, files[0])}.old",
        "https://rowing.example/sites",
    ]


def _add_mails(sandbox, links):
    """Add conversations of two messages to each mailbox."""
    for mailbox in ("provider-a", "provider-b"):
        mails = [_mail(mailbox, number, links) for number in range(12)]
        sandbox.state.mails.add_many(mailbox, mails)


def _mail(mailbox, number, links):
    first = f"<{mailbox}{number - 1}@world.example>"
    return worlds.mail(
        f"{mailbox}{number}",
        PEOPLE[number % 4],
        f"me@{mailbox}.example, {PEOPLE[(number + 2) % 4]}",
        f"Subject {number // 2}",
        f"Text {number}.\n{links[number]}\n({links[number - 3]}).\n",
        at=f"2026-11-{number + 11:02}T09:00:00",
        cc=PEOPLE[(number + 1) % 4],
        headers={"In-Reply-To": first, "References": first} if number % 2 else None,
        is_read=number % 3 == 0,
    )


def _add_events(agendas, links):
    guests = (calendar_world.ANA, calendar_world.BO, calendar_world.CARLA, calendar_world.DAN)
    for number in range(12):
        start, end = (calendar_world.at(number - 6, clock) for clock in ("12:00", "13:00"))
        agendas.plant(
            list(agendas.calendars)[number % 4],
            f"talk {number}",
            calendar_world.meeting(
                start,
                end,
                f"Talk {number}",
                organiser=guests[number % 4],
                attendees=(guests[number % 4], guests[(number + 1) % 4]),
                description=f"See {links[number]} and {links[number - 1]}" if number % 3 else "",
            ),
        )


def _add_items(sandbox, parameters):
    store = BoardStore(sandbox.state.database)
    board, door = store.boards.find(parameters["boardId"]), store.items.find(parameters["itemId"])
    below = next(kept for kept in store.boards.all() if kept.type == "sub_items_board")
    with sandbox.state.database.transaction():
        for number in range(9):
            values = {"state": {"index": number % 3}}
            item = store.add_item(
                board, f"Oar {number}", group="todo", creator_id=door.creator_id, values=values
            )
            if number % 4 == 0:
                store.add_item(
                    below,
                    f"Blade {number}",
                    group=below.groups[0].id,
                    parent=item.id,
                    creator_id=door.creator_id,
                    values={"step": {"index": 1}},
                )


def _add_tasks(tasks):
    """Add tasks below a task: one that is in the project too, and one below the other."""
    store, roof = tasks.projects, tasks.projects.tasks.find(tasks["roof"])
    with tasks.sandbox.state.database.transaction():
        beam = store.add_task(
            roof.owner,
            "Saw a beam",
            creator=roof.creator,
            parent=roof.id,
            memberships=roof.memberships,
        )
        store.add_task(roof.owner, "Sharpen the saw", creator=roof.creator, parent=beam.id)


def _add_content(sandbox, parameters):
    """Add files and list items; return the id of the list of their library."""
    store = sandbox.state.content
    make = ContentBuilder(store, when=content_world.WHEN, author=content_world.ANN)
    _, _, drive_id, _, item_id = parameters["folderId"].split(":")
    folder, library = store.item(drive_id, item_id), store.get(r.Library, drive_id)
    make.continue_list(library.list_id, drive_id)
    for number in range(10):
        below = folder if number < 8 else make.folder(folder, f"Oars {number}")
        file = make.file(below, f"oar {number}.txt", ("text", "an oar for the keel"))
        if number % 3 == 0:
            make.share(file, "user", "write", to=(content_world.BOB,))
    berths = next(kept for kept in store.every(r.SiteList) if kept.title == "Berths")
    make.continue_list(berths.id)
    for number in range(5, 15):
        make.row(berths, {"Title": f"Berth {number}", "Length": number, "State": "Let"})
    make.save()
    return f"{parameters['siteId']}:list:{library.list_id.lower()}"
