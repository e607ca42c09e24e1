"""
Sensitivity labels: the tenant's catalogue, and the labels of files.

See docs/spec/upstream/microsoft-files.md#sensitivity-labels.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from providers import collab_ids
from providers.collab_ids import ItemKey, is_part
from providers.connectors.collab import batch, response_types
from providers.connectors.collab.batch import BatchRequest
from providers.connectors.collab.connection_context import BETA, V1, ConnectionContext
from providers.connectors.collab.files.reading import FileReader
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.paging import ODataPage
from providers.failures import Missing, ProviderFailure, Refused
from providers.http.response import Response
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

T = TypeVar("T")

# Addresses of the catalogue, with the beginning of the names of the scopes that each needs.
_CATALOGUE = (
    (V1, "security", "dataSecurityAndGovernance", "sensitivityLabels"),
    "SensitivityLabel",
)
_BETA_SCOPE = "InformationProtectionPolicy."
_BETA_CATALOGUES = (
    ((BETA, "me", "security", "informationProtection", "sensitivityLabels"), _BETA_SCOPE),
    ((BETA, "security", "informationProtection", "sensitivityLabels"), _BETA_SCOPE),
)
_ASSIGNMENT_METHODS = frozenset({"standard", "privileged", "auto"})


class LabelReader:
    """Reads labels."""

    def __init__(self, context: ConnectionContext, sites: SiteReader, files: FileReader) -> None:
        self._context = context
        self._sites = sites
        self._files = files

    async def catalogue(self) -> tuple[records.SensitivityLabel, ...]:
        """Return the tenant's labels, by rising sensitivity; empty when it does not list them."""
        cached = self._context.cache.labels.get("")
        if cached is not None:
            return cached
        fallbacks = _BETA_CATALOGUES[1:] if self._context.is_selected else _BETA_CATALOGUES
        scopes = [scope.rpartition("/")[2] for scope in self._context.info.granted_scopes]
        # First the addresses for which there surely is a scope: another would be refused.
        catalogues = sorted(
            (_CATALOGUE, *fallbacks),
            key=lambda catalogue: not any(scope.startswith(catalogue[1]) for scope in scopes),
        )
        for address, _ in catalogues:
            try:
                response = await self._context.upstream.call("GET", *address)
            except (Refused, Missing):
                continue
            labels = _flatten(response.decode(ODataPage[response_types.Label]).value)
            self._context.cache.labels.put("", labels)
            return labels
        return ()

    async def of_files(
        self, keys: Collection[ItemKey]
    ) -> Mapping[ItemKey, tuple[records.FileLabel, ...] | Unknown]:
        """Return the labels of files, in batches; empty for what cannot have any."""
        admitted = await self._sites.admitted({key.drive for key in keys})
        requests = {
            key: BatchRequest(
                ("drives", key.drive, "items", key.item, "extractSensitivityLabels"),
                method="POST",
                changes=False,
            )
            for key in dict.fromkeys(keys)
            if key.drive in admitted and is_part(key.drive) and is_part(key.item)
        }
        responses = await batch.read_all(self._context.upstream, requests)
        labels: dict[ItemKey, tuple[records.FileLabel, ...] | Unknown]
        labels = dict.fromkeys(keys, UNKNOWN)
        labels |= {key: _file_labels(response) for key, response in responses.items()}
        # Folders are refused like some files, but surely have no label.
        refused = [key for key, response in responses.items() if response.status == 400]
        if refused:
            items = await self._files.get_many(refused, projection=frozenset())
            for key, item in items.items():
                if isinstance(item, records.File) and item.is_folder:
                    labels[key] = ()
        return labels


def _file_labels(response: Response) -> tuple[records.FileLabel, ...] | Unknown:
    """
    Return the labels in a response.

    A file of a type that cannot have labels surely has none; the labels of a locked, refused or
    failed one are unknown (docs/spec/upstream/microsoft-files.md#label-of-a-file).
    """
    if response.status == 415:
        return ()
    if not 200 <= response.status < 300:
        return UNKNOWN
    try:
        body: response_types.ItemLabels | None = response.decode(response_types.ItemLabels)
    except ProviderFailure:
        return UNKNOWN
    while body is not None and body.labels is None and body.value is not None:
        body = body.value
    if body is None or body.labels is None:
        return UNKNOWN
    if not all(collab_ids.is_guid(label.sensitivity_label_id) for label in body.labels):
        return UNKNOWN
    return tuple(
        records.FileLabel(
            label_id=label.sensitivity_label_id.lower(),
            assignment_method=(
                label.assignment_method if label.assignment_method in _ASSIGNMENT_METHODS else None
            ),
        )
        for label in body.labels
    )


def _flatten(labels: Iterable[response_types.Label]) -> tuple[records.SensitivityLabel, ...]:
    """Return labels and their sublabels in one sequence, by rising sensitivity."""
    by_id = {label.id: label for label in _with_sublabels(labels, depth=0)}
    return tuple(sorted(by_id.values(), key=lambda label: (label.sensitivity, label.id)))


def _with_sublabels(
    labels: Iterable[response_types.Label], *, depth: int
) -> Iterable[records.SensitivityLabel]:
    for label in labels:
        if collab_ids.is_guid(label.id):
            active = _first_known(label.is_active, label.is_enabled, default=True)
            yield records.SensitivityLabel(
                id=label.id.lower(),
                display_name=label.display_name or label.name,
                description=label.description or None,
                color=label.color or None,
                sensitivity=_first_known(label.sensitivity, label.priority, default=0),
                tool_tip=label.tool_tip or label.tooltip or None,
                is_active=active,
                is_appliable=_first_known(
                    label.is_appliable, default=active and not label.sublabels
                ),
            )
        if label.sublabels and depth < 3:
            yield from _with_sublabels(label.sublabels, depth=depth + 1)


def _first_known(*values: T | None, default: T) -> T:
    return next((value for value in values if value is not None), default)
