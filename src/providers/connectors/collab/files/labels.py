"""Sensitivity labels: the tenant's catalogue, and what files carry. Source: wire report 1D.7."""

from collections.abc import Collection, Iterable, Mapping

from providers.connectors.collab import batch, response_types
from providers.connectors.collab.batch import BatchRequest
from providers.connectors.collab.connection_context import BETA, V1, ConnectionContext
from providers.connectors.collab.files.reading import FileReader
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.paging import ODataPage
from providers.content import ids as collab_ids
from providers.content.ids import ItemKey, is_part
from providers.failures import Missing, ProviderFailure, Refused
from providers.http.response import Response
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

_STABLE = (V1, "security", "dataSecurityAndGovernance", "sensitivityLabels")
_FALLBACKS = (
    (BETA, "me", "security", "informationProtection", "sensitivityLabels"),
    (BETA, "security", "informationProtection", "sensitivityLabels"),
)
_METHODS = frozenset({"standard", "privileged", "auto"})


class LabelReader:
    """Reads labels."""

    def __init__(self, context: ConnectionContext, sites: SiteReader, files: FileReader) -> None:
        self._context = context
        self._sites = sites
        self._files = files

    async def catalogue(self) -> tuple[records.SensitivityLabel, ...]:
        """Return the tenant's labels; see `LabelPort.labels`."""
        known = self._context.cache.labels.get("")
        if known is not None:
            return known
        ways = _FALLBACKS[1:] if self._context.is_selected else _FALLBACKS
        for way in (_STABLE, *ways):
            try:
                answer = await self._context.upstream.call("GET", *way)
            except (Refused, Missing):
                continue
            labels = _flat(answer.decode(ODataPage[response_types.Label]).value)
            self._context.cache.labels.put("", labels)
            return labels
        return ()

    async def of_files(
        self, keys: Collection[ItemKey]
    ) -> Mapping[ItemKey, tuple[records.FileLabel, ...] | Unknown]:
        """Return the labels of files; see `LabelPort.file_labels`."""
        found: dict[ItemKey, tuple[records.FileLabel, ...] | Unknown] = dict.fromkeys(keys, UNKNOWN)
        admitted = await self._sites.admitted({key.drive for key in keys})
        asks = {
            key: BatchRequest(
                ("drives", key.drive, "items", key.item, "extractSensitivityLabels"),
                method="POST",
                changes=False,
            )
            for key in found
            if key.drive in admitted and is_part(key.drive) and is_part(key.item)
        }
        answers = await batch.read_all(self._context.upstream, asks)
        for key, answer in answers.items():
            found[key] = _read(answer)
        # A folder is refused too, and surely has none; whatever else is refused may have one.
        refused = [key for key, answer in answers.items() if answer.status == 400]
        if refused:
            items = await self._files.get_many(refused, wanted=frozenset())
            for key, item in items.items():
                if isinstance(item, records.File) and item.is_folder:
                    found[key] = ()
        return found


def _read(answer: Response) -> tuple[records.FileLabel, ...] | Unknown:
    """
    Say which labels an answer tells.

    A file of a type that cannot have labels surely has none; what is locked, refused or fails is
    not known (decisions 16).
    """
    if answer.status == 415:
        return ()
    if not 200 <= answer.status < 300:
        return UNKNOWN
    try:
        told: response_types.ItemLabels | None = answer.decode(response_types.ItemLabels)
    except ProviderFailure:
        return UNKNOWN
    while told is not None and told.labels is None and told.value is not None:
        told = told.value
    if told is None or told.labels is None:
        return UNKNOWN
    if not all(collab_ids.is_guid(one.sensitivity_label_id) for one in told.labels):
        return UNKNOWN
    return tuple(
        records.FileLabel(
            label_id=one.sensitivity_label_id.lower(),
            assignment_method=one.assignment_method if one.assignment_method in _METHODS else None,
        )
        for one in told.labels
    )


def _flat(labels: Iterable[response_types.Label]) -> tuple[records.SensitivityLabel, ...]:
    """Lay the labels below others beside them, by rising sensitivity."""
    found = {one.id: one for one in _walk(labels, depth=0)}
    return tuple(sorted(found.values(), key=lambda one: (one.sensitivity, one.id)))


def _walk(
    labels: Iterable[response_types.Label], *, depth: int
) -> Iterable[records.SensitivityLabel]:
    for one in labels:
        if collab_ids.is_guid(one.id):
            active = _first(one.is_active, one.is_enabled, default=True)
            yield records.SensitivityLabel(
                id=one.id.lower(),
                display_name=one.display_name or one.name,
                description=one.description or None,
                color=one.color or None,
                sensitivity=_number(one.sensitivity, one.priority),
                tool_tip=one.tool_tip or one.tooltip or None,
                is_active=active,
                is_appliable=_first(one.is_appliable, default=active and not one.sublabels),
            )
        if one.sublabels and depth < 3:
            yield from _walk(one.sublabels, depth=depth + 1)


def _first(*told: bool | None, default: bool) -> bool:
    return next((one for one in told if one is not None), default)


def _number(*told: int | None) -> int:
    return next((one for one in told if one is not None), 0)
