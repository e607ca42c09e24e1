"""All that the project provider keeps, and what makes a new record: its id, its place, its time."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
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

_FIRST = 1_208_431_000_000_000
_FREE = "projects:free"  # meta key: whether the workspace is on the free plan


class ProjectStore:
    """
    The workspaces of one account.

    Attributes:
        workspaces, teams, users, projects, sections, fields, tasks, stories, tags: Their records.
    """

    def __init__(self, db: Database, *, clock: Callable[[], float] = time.time) -> None:
        """*clock* tells seconds since the epoch."""
        self.db = db
        self._clock = clock
        self.workspaces = DocumentTable(db, "projects.workspace", Workspace)
        self.teams = DocumentTable(db, "projects.team", Team)
        self.users = DocumentTable(db, "projects.user", User)
        self.projects = DocumentTable(db, "projects.project", Project)
        self.sections = DocumentTable(db, "projects.section", Section)
        self.fields = DocumentTable(db, "projects.field", CustomField)
        self.tasks = DocumentTable(db, "projects.task", Task)
        self.stories = DocumentTable(db, "projects.story", Story)
        self.tags = DocumentTable(db, "projects.tag", Tag)

    def seconds(self) -> float:
        """Return the time, in seconds since the epoch."""
        return self._clock()

    def now(self) -> str:
        """Return the time as the wire writes it."""
        return format_time(self._clock())

    def new_id(self) -> str:
        """Return a new id, of whatever kind."""
        return str(_FIRST + self.db.next("projects.id") * 1_013)

    @property
    def is_free(self) -> bool:
        """Whether the workspace lacks what is sold: search and custom fields."""
        return bool(self.db.meta(_FREE))

    def set_free(self, *, free: bool) -> None:
        """Put the workspace on the free plan, or on the one that is paid for."""
        self.db.set_meta(_FREE, "yes" if free else "")

    # Making

    def add_project(self, workspace: str, name: str, *, creator: str, **rest: Any) -> Project:
        """Add a project with its first section; *rest* are fields of `Project`."""
        project_id, at = self.new_id(), rest.pop("created_at", None) or self.now()
        project = Project(
            id=project_id,
            owner=workspace,
            position=float(project_id),
            name=name,
            creator=creator,
            members=rest.pop("members", ()) or (creator,),
            created_at=at,
            modified_at=rest.pop("modified_at", None) or at,
            **rest,
        )
        self.projects.put(project)
        self.add_section(project.id, "Untitled section")
        return project

    def add_section(self, project: str, name: str) -> Section:
        """Add a section behind those that are there."""
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

    def add_task(self, workspace: str, name: str, *, creator: str, **rest: Any) -> Task:
        """Add a task; *rest* are fields of `Task`. A story tells each project it came into."""
        task_id, at = self.new_id(), rest.pop("created_at", None) or self.now()
        task = Task(
            id=task_id,
            owner=workspace,
            position=float(task_id),
            name=name,
            creator=creator,
            followers=rest.pop("followers", ()) or (creator,),
            created_at=at,
            modified_at=rest.pop("modified_at", None) or at,
            **rest,
        )
        self.tasks.put(task)
        for membership in task.memberships:
            project = self.projects.find(membership.project)
            text = f"added to {project.name if project else 'a project'}"
            self.add_system_story(
                task, text, subtype="added_to_project", creator=creator, created_at=at
            )
        return task

    def add_system_story(
        self, task: Task, text: str, *, subtype: str, creator: str, created_at: str
    ) -> Story:
        """Add a story that is no comment."""
        return self.add_story(
            task, text, kind="system", subtype=subtype, creator=creator, created_at=created_at
        )

    def add_story(self, task: Task, text: str, *, creator: str, **rest: Any) -> Story:
        """Add a comment, or what *rest* makes of it."""
        story_id = self.new_id()
        return self.stories.put(
            Story(
                id=story_id,
                owner=task.id,
                position=float(story_id),
                text=text,
                creator=creator,
                created_at=rest.pop("created_at", None) or self.now(),
                **rest,
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

    def change_task(self, task: Task, **changed: Any) -> Task:
        """Keep *task* with these fields changed, now."""
        return self.tasks.put(msgspec.structs.replace(task, modified_at=self.now(), **changed))

    # Asking

    def user_by_email(self, email: str) -> User | None:
        """Return the user with this address, or the first of all."""
        users = self.users.all()
        return next((user for user in users if user.email == email), users[0] if users else None)

    def project_tasks(self, project: str) -> list[Task]:
        """Return a project's tasks, section by section, each in its order; no sub-tasks of it."""
        order = {section.id: place for place, section in enumerate(self.sections.of(project))}
        found = [
            (order.get(membership.section, len(order)), task.position, task)
            for task in self.tasks.all()
            for membership in task.memberships
            if membership.project == project
        ]
        return [task for _, _, task in sorted(found, key=lambda one: one[:2])]

    def section_tasks(self, section: str) -> list[Task]:
        """Return a section's tasks in their order."""
        return [
            task
            for task in self.tasks.all()
            if any(membership.section == section for membership in task.memberships)
        ]

    def subtasks(self, task: str) -> list[Task]:
        """Return a task's own tasks in their order."""
        return [one for one in self.tasks.all() if one.parent == task]

    def first_section(self, project: str) -> Section:
        """Return the section that a task comes into when none is named."""
        return self.sections.of(project)[0]

    def default_membership(self, project: str) -> Membership:
        """Return a place in a project's first section."""
        return Membership(project=project, section=self.first_section(project).id)

    def delete_task(self, task: Task) -> None:
        """Forget a task, what is below it and its stories."""
        for below in self.subtasks(task.id):
            self.delete_task(below)
        for story in self.stories.of(task.id):
            self.stories.drop(story.id)
        self.tasks.drop(task.id)


def format_time(seconds: float) -> str:
    """Write seconds since the epoch as the wire does: UTC, milliseconds."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
