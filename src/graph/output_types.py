"""
Output types, declared once: each member with its description, and the mask words that hide it.

    @output_of(records.Email)
    class Email:                                  # members take their types from the record
        '''A message.'''

        id = visible("Provider-prefixed id.")
        subject = masked(EmailField.SUBJECT, "The subject.")

    @output
    class EmailPage(Record, frozen=True, kw_only=True):      # what a resolver returns
        '''A page of messages.'''

        emails: Annotated[tuple[records.Email, ...], visible("Newest first.")]

The GraphQL types (`graphql_type`) and the table of masks (`graph.masking.masks`) follow from it. A
member that says neither `visible` nor `masked` raises TypeError when its module is imported.
"""

from collections.abc import Callable, Mapping
from copy import copy
from inspect import cleandoc
from types import MappingProxyType, NoneType
from typing import (
    Annotated,
    Any,
    Final,
    ForwardRef,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
import strawberry
from strawberry.types.field import StrawberryField

from policy.vocabulary import Field
from providers.records.base import Record

T = TypeVar("T", bound=type)

_WORDS = "mask_words"
_GRAPHQL_TYPES: Final[dict[type, Any]] = {}  # record type -> its GraphQL type

INTERNAL = object()  # for `Annotated`: the attribute is not in the schema


def visible(description: str, **options: Any) -> Any:
    """
    Declare a member that no mask word hides; what stands below a masked member goes with it.

    *options*: `graphql_type`, where it does not follow from the record's attribute, or `resolver`.
    """
    return masked((), description, **options)


def masked(
    words: Field | tuple[Field, ...],
    description: str,
    *,
    metadata: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> Any:
    """Declare a member that is null where the token sees none of *words*; else like `visible`."""
    hiding_words = words if isinstance(words, tuple) else (words,)
    metadata = {**metadata, _WORDS: hiding_words}
    return strawberry.field(description=description, metadata=metadata, **options)


ACCESS_INFO = "The active restrictions of the access token in words; null when there are none."

AccessInfo = Annotated[str | None, visible(ACCESS_INFO)]
NextPageToken = Annotated[
    str | None, visible("Pass it as `pageToken` to get the next page; null on the last one.")
]
HasMore = Annotated[bool, visible("Whether there is another page.")]
Success = Annotated[bool, visible("Whether the operation was carried out.")]
ErrorText = Annotated[str | None, visible("Null on success.")]


def words_of(field: StrawberryField) -> tuple[Field, ...] | None:
    """Return the words that hide *field*; () for a visible one, None where nothing is declared."""
    return cast("tuple[Field, ...] | None", field.metadata.get(_WORDS))


def output(cls: T) -> T:
    """Make *cls*, a record, the output type of its name, with its members in order."""
    members: dict[str, tuple[Any, Any]] = {}
    for attribute in msgspec.structs.fields(cls):
        type_, declared = attribute.type, None
        if get_origin(type_) is Annotated:
            type_, *_, declared = get_args(type_)
        if declared is not INTERNAL:
            members[attribute.name] = (type_, declared)
    _GRAPHQL_TYPES[cls] = _graphql_class(cls, members)
    return cls


def output_of(record: type[Record]) -> Callable[[type], type]:
    """Make the class an output type, whose members are attributes of *record* or have resolvers."""

    def declare(cls: type) -> type:
        _GRAPHQL_TYPES[record] = ForwardRef(cls.__name__)  # for members of the type itself
        declared = {**vars(cls).get("__annotations__", {}), **vars(cls)}
        members = {
            name: (_attribute_type(record, name), value)
            for name, value in declared.items()
            if not name.startswith("__")
        }
        shown = _GRAPHQL_TYPES[record] = _graphql_class(cls, members)
        return shown

    return declare


def graphql_type(type_: Any) -> Any:
    """
    Return the GraphQL type of *type_*, with those of the records in it.

    Raises:
        TypeError: A record has no output type.
    """
    arguments = [graphql_type(argument) for argument in get_args(type_) if argument is not ...]
    if type_ in _GRAPHQL_TYPES:
        return _GRAPHQL_TYPES[type_]
    if isinstance(type_, type) and issubclass(type_, Record):
        raise TypeError(f"{type_.__name__} has no output type.")
    if get_origin(type_) in (list, tuple):
        return list[arguments[0]]  # type: ignore[valid-type]  # a type made at run time
    return arguments[0] | None if NoneType in arguments else type_


def _attribute_type(record: type[Record], name: str) -> Any:
    """Return the type of an attribute or property of *record*; None where it has none."""
    own = getattr(record, name, None)
    hints = get_type_hints(own.fget if isinstance(own, property) else record)
    return hints.get("return" if isinstance(own, property) else name)


def _graphql_class(cls: type, members: Mapping[str, tuple[Any, Any]]) -> type:
    """Return the Strawberry type of *cls* with *members*: name -> record's type, declaration."""
    annotations, fields = {}, {}
    for name, (type_, declared) in members.items():
        is_field = isinstance(declared, StrawberryField) and declared.description
        if not is_field or words_of(declared) is None:
            raise TypeError(f"{cls.__name__}.{name} must be declared as `visible` or `masked`.")
        field = fields[name] = copy(declared)
        field.graphql_name = name.removesuffix("_") if name.endswith("_") else None
        source = (declared.base_resolver or declared).type_annotation
        if source is None and type_ is None:
            raise TypeError(f"{cls.__name__}.{name}: the record has no such attribute.")
        annotations[name] = graphql_type(type_) if source is None else source.raw_annotation
    own = {"__module__": cls.__module__, "__annotations__": annotations, **fields}
    return strawberry.type(type(cls.__name__, (), own), description=cleandoc(cls.__doc__ or ""))
