"""All records of the account, and the creation of new ones with id, position and time."""

import time
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

import msgspec

from sandbox.projects.records import (
    CustomField,
    Membership,
    Project,
    Section,
    Story,
    Tag,
    Task,
    Team,
    User,
    Workspace,
)
from sandbox.storage.database import Database
from sandbox.storage.documents import DocumentTable

_FIRST_ID = 1_208_431_000_000_000
_FREE_PLAN = "projects:free"  # meta key: whether the workspace is on the free plan


class ProjectStore:
    """
    The workspaces of one account.

    Attributes:
        workspaces, teams, users, projects, sections, fields, tasks, stories, tags: Tables of the
            records.
    """

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        """*clock* returns seconds since the epoch."""
        self.database = database
        self._clock = clock
        self.workspaces = DocumentTable(database, "projects.workspace", Workspace)
        self.teams = DocumentTable(database, "projects.team", Team)
        self.users = DocumentTable(database, "projects.user", User)
        self.projects = DocumentTable(database, "projects.project", Project)
        self.sections = DocumentTable(database, "projects.section", Section)
        self.fields = DocumentTable(database, "projects.field", CustomField)
        self.tasks = DocumentTable(database, "projects.task", Task)
        self.stories = DocumentTable(database, "projects.story", Story)
        self.tags = DocumentTable(database, "projects.tag", Tag)
        self._indexed: tuple[Task, ...] = ()
        self._below: dict[str, list[Task]] = {}

    def seconds(self) -> float:
        """Return the current time, in seconds since the epoch."""
        return self._clock()

    def now(self) -> str:
        """Return the current time in the API's format."""
        return format_time(self._clock())

    def new_id(self) -> str:
        """Return a new id; records of all kinds share one sequence."""
        return str(_FIRST_ID + self.database.next("projects.id") * 1_013)

    @property
    def is_free(self) -> bool:
        """Whether the workspace is on the free plan, which lacks search and custom fields."""
        return bool(self.database.meta(_FREE_PLAN))

    def set_free(self, *, free: bool) -> None:
        """Put the workspace on the free or on the paid plan."""
        self.database.set_meta(_FREE_PLAN, "yes" if free else "")

    # Changes

    def add_project(self, workspace: str, name: str, *, creator: str, **fields: Any) -> Project:
        """Add a project with its first section; *fields* are others of `Project`."""
        project_id, created_at = self.new_id(), fields.pop("created_at", None) or self.now()
        project = Project(
            id=project_id,
            owner=workspace,
            position=float(project_id),
            name=name,
            creator=creator,
            members=fields.pop("members", ()) or (creator,),
            created_at=created_at,
            modified_at=fields.pop("modified_at", None) or created_at,
            **fields,
        )
        self.projects.put(project)
        self.add_section(project.id, "Untitled section")
        return project

    def add_section(self, project: str, name: str) -> Section:
        """Add a section after the others of *project*, an id."""
        section_id = self.new_id()
        return self.sections.put(
            Section(
                id=section_id,
                owner=project,
                position=float(section_id),
                name=name,
                created_at=self.now(),
            )
        )

    def add_task(self, workspace: str, name: str, *, creator: str, **fields: Any) -> Task:
        """Add a task, and a story per project; *fields* are others of `Task`."""
        task_id, created_at = self.new_id(), fields.pop("created_at", None) or self.now()
        task = Task(
            id=task_id,
            owner=workspace,
            position=float(task_id),
            name=name,
            creator=creator,
            followers=fields.pop("followers", ()) or (creator,),
            created_at=created_at,
            modified_at=fields.pop("modified_at", None) or created_at,
            **fields,
        )
        self.tasks.put(task)
        for membership in task.memberships:
            project = self.projects.find(membership.project)
            text = f"added to {project.name if project else 'a project'}"
            self.add_system_story(
                task, text, subtype="added_to_project", creator=creator, created_at=created_at
            )
        return task

    def add_system_story(
        self, task: Task, text: str, *, subtype: str, creator: str, created_at: str
    ) -> Story:
        """Add a story of an event."""
        return self.add_story(
            task, text, kind="system", subtype=subtype, creator=creator, created_at=created_at
        )

    def add_story(self, task: Task, text: str, *, creator: str, **fields: Any) -> Story:
        """Add a comment; *fields* are others of `Story`."""
        story_id = self.new_id()
        return self.stories.put(
            Story(
                id=story_id,
                owner=task.id,
                position=float(story_id),
                text=text,
                creator=creator,
                created_at=fields.pop("created_at", None) or self.now(),
                **fields,
            )
        )

    def add_tag(self, workspace: str, name: str, color: str | None = None) -> Tag:
        """Add a tag."""
        tag_id = self.new_id()
        return self.tags.put(
            Tag(
                id=tag_id,
                owner=workspace,
                position=float(tag_id),
                name=name,
                color=color,
                created_at=self.now(),
            )
        )

    def change_task(self, task: Task, **fields: Any) -> Task:
        """Store *task* with changed fields, modified now."""
        return self.tasks.put(msgspec.structs.replace(task, modified_at=self.now(), **fields))

    # Queries

    def user_by_email(self, email: str) -> User | None:
        """Return the user with this address, else the first user; None without any users."""
        users = self.users.all()
        return next((user for user in users if user.email == email), users[0] if users else None)

    def project_tasks(self, project: str) -> list[Task]:
        """Return the tasks of *project*, an id, by section and position, without subtasks."""
        order = {section.id: index for index, section in enumerate(self.sections.of(project))}
        keyed = [
            (order.get(membership.section, len(order)), task.position, task)
            for task in self.tasks.all()
            for membership in task.memberships
            if membership.project == project
        ]
        return [task for _, _, task in sorted(keyed, key=itemgetter(0, 1))]

    def section_tasks(self, section: str) -> list[Task]:
        """Return the tasks of *section*, an id, by position."""
        return [
            task
            for task in self.tasks.all()
            if any(membership.section == section for membership in task.memberships)
        ]

    def subtasks(self, task: str) -> list[Task]:
        """Return the subtasks of *task*, an id, by position."""
        tasks = self.tasks.all()
        if tasks is not self._indexed:
            self._indexed, self._below = tasks, defaultdict(list)
            for subtask in tasks:
                if subtask.parent is not None:
                    self._below[subtask.parent].append(subtask)
        return list(self._below.get(task, ()))

    def first_section(self, project: str) -> Section:
        """Return the default section of *project*, an id."""
        return self.sections.of(project)[0]

    def default_membership(self, project: str) -> Membership:
        """Return a membership in the default section of *project*, an id."""
        return Membership(project=project, section=self.first_section(project).id)

    def delete_task(self, task: Task) -> None:
        """Delete a task with its subtasks and stories."""
        for subtask in self.subtasks(task.id):
            self.delete_task(subtask)
        for story in self.stories.of(task.id):
            self.stories.drop(story.id)
        self.tasks.drop(task.id)


def format_time(seconds: float) -> str:
    """Format seconds since the epoch as the API does: ISO 8601, UTC, milliseconds."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
