"""Sensitivity labels on what is answered, and the fields that are about them alone."""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar

import msgspec
import strawberry

from graph.collab import ids
from graph.collab.failures import translate_failures
from graph.collab.types import ItemSensitivityLabel, SensitivityLabelList
from graph.collab.views import ItemLabelView, LabelListView
from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.rule_facts import FactLoader, Labels
from graph.context import Context, Info
from graph.masking.guards import guarded
from policy.vocabulary import CollabField, CollabOp, Surface
from providers.failures import Broken, ProviderFailure
from providers.records.collab import UNKNOWN, File, FileLabel, FileLabels, Row

Thing = TypeVar("Thing", File, Row)


@guarded(CollabOp.READ_SENSITIVITY_LABELS, returns=SensitivityLabelList)
async def sensitivity_labels(info: Info) -> LabelListView:
    """List the labels that the organisation has."""
    context = info.context
    context.caller.usable_connections(Surface.COLLAB)
    found = await translate_failures(context.content.labels())
    return LabelListView(labels=found.items, access_info=context.caller.access_info(Surface.COLLAB))


@guarded(CollabOp.READ_SENSITIVITY_LABELS, returns=ItemSensitivityLabel)
async def file_sensitivity_label(
    info: Info,
    file_id: Annotated[str, strawberry.argument(description="The file's id.")],
    *,
    refresh: Annotated[
        bool | None,
        strawberry.argument(
            description="Labels are always read afresh; accepted, changes nothing."
        ),
    ] = False,
) -> ItemLabelView:
    """Read the label of a file; every member is null when it has none."""
    del refresh
    context = info.context
    key = ids.parse_file(file_id)
    context.caller.usable_connections(Surface.COLLAB)
    access = AccessChecker(context.content, context.caller.rules)
    found = (await translate_failures(access.read_file(key))).file
    if found.is_folder or context.caller.hides(CollabField.SENSITIVITY_LABEL):
        return ItemLabelView()
    labels = (await translate_failures(access.fact_loader.labels([found.key])))[found.key]
    if labels is UNKNOWN:
        raise Broken("The provider does not tell this file's label.")
    if not labels:
        return ItemLabelView()
    names = await _names(context, [labels])
    return ItemLabelView(
        label_id=labels[0].label_id,
        label_display_name=names.get(labels[0].label_id),
        assignment_method=labels[0].assignment_method,
    )


async def add_labels(
    context: Context, fact_loader: FactLoader, files: Sequence[File]
) -> tuple[File, ...]:
    """Put the labels of *files* on them; null without one, and where it cannot be told."""
    found = await fact_loader.labels([one.key for one in files if not one.is_folder])
    carried: list[Labels] = [() if one.is_folder else found[one.key] for one in files]
    return await _put(context, files, carried)


async def add_row_labels(
    context: Context, fact_loader: FactLoader, rows: Sequence[Row]
) -> tuple[Row, ...]:
    """Put the labels of their files on *rows*; null without one, and where it cannot be told."""
    faces = [one.file for one in rows if isinstance(one.file, File) and not one.file.is_folder]
    found = await fact_loader.labels([face.key for face in faces])

    def carried(row: Row) -> Labels:
        if row.file is UNKNOWN:
            return UNKNOWN
        return found.get(row.file.key, ()) if row.file is not None else ()

    return await _put(context, rows, [carried(one) for one in rows])


async def _put(
    context: Context, things: Sequence[Thing], carried: Sequence[Labels]
) -> tuple[Thing, ...]:
    names = await _names(context, carried)
    return tuple(
        thing
        if labels is UNKNOWN
        else msgspec.structs.replace(thing, labels=_written(labels, names))
        for thing, labels in zip(things, carried, strict=True)
    )


async def _names(context: Context, carried: Sequence[Labels]) -> Mapping[str, str]:
    """Return the names of labels by id, as far as the catalogue tells them."""
    if not any(labels for labels in carried if labels is not UNKNOWN):
        return {}
    try:
        found = await context.content.labels()
    except ProviderFailure:
        return {}
    return {one.id: one.display_name for one in found.items if one.display_name}


def _written(labels: tuple[FileLabel, ...], names: Mapping[str, str]) -> FileLabels | None:
    if not labels:
        return None
    first = labels[0].label_id
    return FileLabels(sensitivity_label_id=first, sensitivity_label_name=names.get(first))
