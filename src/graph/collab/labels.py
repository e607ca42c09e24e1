"""Sensitivity labels: their root queries, and the labels on files and list items."""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar

import msgspec
import strawberry

from graph.collab import ids
from graph.collab.failures import translate_failures
from graph.collab.types import ItemSensitivityLabel, SensitivityLabelList
from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.rule_facts import Labels
from graph.context import Info
from graph.masking.guards import guarded
from policy.vocabulary import CollabField, CollabOp, Surface
from providers.failures import Broken, ProviderFailure
from providers.records.collab import UNKNOWN, File, FileLabel, FileLabels, ListItem

T = TypeVar("T", File, ListItem)


@guarded(CollabOp.READ_SENSITIVITY_LABELS)
@translate_failures
async def sensitivity_labels(info: Info) -> SensitivityLabelList:
    """List the sensitivity labels of the organization."""
    context = info.context
    access = AccessChecker.open(context, CollabOp.READ_SENSITIVITY_LABELS)
    labels = await access.content.labels()
    return SensitivityLabelList(
        labels=labels.items, access_info=context.caller.access_info(Surface.COLLAB)
    )


@guarded(CollabOp.READ_SENSITIVITY_LABELS)
@translate_failures
async def file_sensitivity_label(
    info: Info,
    file_id: Annotated[str, strawberry.argument(description="The file's id.")],
    *,
    refresh: Annotated[
        bool | None,
        strawberry.argument(description="Accepted without effect: labels are never cached."),
    ] = False,
) -> ItemSensitivityLabel:
    """Read the label of a file; every member is null when it has none."""
    del refresh
    context = info.context
    key = ids.parse_file(file_id)
    access = AccessChecker.open(context, CollabOp.READ_SENSITIVITY_LABELS)
    file = (await access.read_file(key)).file
    access = access.on(file.connection_id)
    if file.is_folder or access.caller.hides(CollabField.SENSITIVITY_LABEL):
        return ItemSensitivityLabel()
    labels = (await access.fact_loader.labels([file.key]))[file.key]
    if labels is UNKNOWN:
        raise Broken("The provider does not tell this file's label.")
    if not labels:
        return ItemSensitivityLabel()
    names = await _label_names(access, [labels])
    return ItemSensitivityLabel(
        label_id=labels[0].label_id,
        label_display_name=names.get(labels[0].label_id),
        assignment_method=labels[0].assignment_method,
    )


async def add_labels(access: AccessChecker, files: Sequence[File]) -> tuple[File, ...]:
    """Add the labels of *files*; null for a file without one, and where it cannot be read."""
    labels = await access.fact_loader.labels([file.key for file in files if not file.is_folder])
    carried: list[Labels] = [() if file.is_folder else labels[file.key] for file in files]
    return await _with_labels(access, files, carried)


async def add_list_item_labels(
    access: AccessChecker, list_items: Sequence[ListItem]
) -> tuple[ListItem, ...]:
    """Add the labels of the files of items; null without a file, or if they cannot be read."""
    files = [
        list_item.file
        for list_item in list_items
        if isinstance(list_item.file, File) and not list_item.file.is_folder
    ]
    labels = await access.fact_loader.labels([file.key for file in files])

    def labels_of(list_item: ListItem) -> Labels:
        if list_item.file is UNKNOWN:
            return UNKNOWN
        return labels.get(list_item.file.key, ()) if list_item.file is not None else ()

    return await _with_labels(
        access, list_items, [labels_of(list_item) for list_item in list_items]
    )


async def _with_labels(
    access: AccessChecker, entries: Sequence[T], carried: Sequence[Labels]
) -> tuple[T, ...]:
    names = await _label_names(access, carried)
    return tuple(
        entry
        if labels is UNKNOWN
        else msgspec.structs.replace(entry, labels=_file_labels(labels, names))
        for entry, labels in zip(entries, carried, strict=True)
    )


async def _label_names(access: AccessChecker, carried: Sequence[Labels]) -> Mapping[str, str]:
    """Return the names of labels by id; empty when no label needs one or they cannot be read."""
    if not any(labels for labels in carried if labels is not UNKNOWN):
        return {}
    try:
        catalogue = await access.content.labels()
    except ProviderFailure:
        return {}
    return {label.id: label.display_name for label in catalogue.items if label.display_name}


def _file_labels(labels: tuple[FileLabel, ...], names: Mapping[str, str]) -> FileLabels | None:
    if not labels:
        return None
    first = labels[0].label_id
    return FileLabels(sensitivity_label_id=first, sensitivity_label_name=names.get(first))
