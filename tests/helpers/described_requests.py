"""Requests that are generated from an OpenAPI description, and answers that are held to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

import jsonschema_rs
from closed_schemas import closed_responses

Key = tuple[str, str]  # path, and method in lower case
Schema = Any
_VALUES = {
    "date-time": ("2026-11-20", "2026-11-20T12:00:00Z"),
    "binary": (b"oars",),
    "integer": (1, 7),
    "number": (1.5,),
    "boolean": (True, False),
    "null": (None,),
    "string": ("oars", "a@b.example", "2026-11-20", "Ä, b", "name desc"),
}


@dataclass(frozen=True)
class Request:
    """
    A request.

    Attributes:
        path: With its query.
        body: JSON, the bytes of an upload, or None.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class Description:
    """
    An OpenAPI description.

    Attributes:
        operations: Each operation as it is described.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._validators: dict[tuple[Key, int], Any] = {}
        self.operations: dict[Key, Any] = {
            (path, method): operation
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        }

    def least_request(self, key: Key, ids: Mapping[str, str]) -> Request:
        """Return a request with what is required alone; *ids* are values of parameters by name."""
        return self._request(key, ids, Random(1), share=0)

    def request(self, key: Key, ids: Mapping[str, str], random: Random) -> Request:
        """Generate a request, by chance of an object that is not there."""
        known = ids if random.random() < 0.8 else {}
        return self._request(key, known, random, share=random.choice([0.0, 0.1, 0.4, 0.8]))

    def _request(
        self, key: Key, ids: Mapping[str, str], random: Random, *, share: float
    ) -> Request:
        path, method = key
        operation = self.operations[key]
        values: dict[str, dict[str, str]] = {"path": {}, "query": {}, "header": {}}
        for parameter in operation["parameters"]:
            if "$ref" in parameter:  # of every call: request ids, preferences, conditions
                continue
            name = parameter["name"]
            if parameter.get("required") or random.random() < share:
                value = ids.get(name) or self._value(parameter["schema"], random, share)
                text = str(value).lower() if isinstance(value, bool) else str(value)
                values[parameter["in"]][name] = text
        query = f"?{urlencode(values['query'])}" if values["query"] else ""
        path = path.format(**{name: quote(text, safe="") for name, text in values["path"].items()})
        headers = {name: quote(text) for name, text in values["header"].items()}
        if random.random() < share / 2:
            headers["Prefer"] = random.choice(["dry-run", "partial=fail"])
        body = None
        if "requestBody" in operation:
            content = operation["requestBody"]["content"]
            media_type = min(content)  # JSON, or the bytes of an upload rather than a form
            headers["Content-Type"] = media_type
            body = self._value(content[media_type]["schema"], random, share)
        return Request(method.upper(), f"{path}{query}", headers, body)

    def _value(self, schema: Schema, random: Random, share: float) -> Any:
        """Generate JSON that fits *schema*; members that may be missing are there by *share*."""
        if "default" in schema and random.random() < 0.5:
            return schema["default"]
        schema = self._resolved(schema)
        if "anyOf" in schema:
            return self._value(random.choice(schema["anyOf"]), random, share)
        if "enum" in schema:
            return random.choice(schema["enum"])
        kind = schema.get("type", "object")  # any JSON: an object
        kind = kind if isinstance(kind, str) else random.choice(kind)
        if kind == "array":
            return [self._value(schema["items"], random, share)]
        if kind == "object":
            members = schema.get("properties", {"Title": {"type": "string"}})
            return {
                name: self._value(member, random, share)
                for name, member in members.items()
                if name in schema.get("required", ()) or random.random() < share
            }
        return random.choice(_VALUES.get(schema.get("format"), _VALUES[kind]))

    def _resolved(self, schema: Schema) -> Schema:
        if "$ref" not in schema:
            return schema
        part: Schema = self._document
        for name in schema["$ref"].removeprefix("#/").split("/"):
            part = part[name]
        return part

    def masks(self, key: Key) -> set[str]:
        """Return the words that mark an operation, or an edge that a saved document follows."""
        operation = self.operations[key]
        words = {operation["x-masked-by"]} if "x-masked-by" in operation else set()
        pending = [operation["responses"]["200"]] if key[0].startswith("/api/saved/") else []
        while pending:
            part = pending.pop()
            if isinstance(part, dict):
                if "x-masked-by" in part:
                    words.add(part["x-masked-by"])
                pending += [self._resolved(part)] if "$ref" in part else part.values()
            elif isinstance(part, list):
                pending += part
        return words

    def problems(self, key: Key, status: int, media_type: str, body: Any) -> list[str]:
        """
        Say what the description does not say of an answer.

        That is its status, a member that is not described, or a masked value that is not null;
        *body* is looked at if it is JSON.
        """
        responses = self._closed["paths"][key[0]][key[1]]["responses"]
        response = responses.get(str(status))
        if response is None:
            return [f"{status} is none of {', '.join(responses)}"]
        if media_type != "application/json":
            return []
        if (key, status) not in self._validators:
            schema = self._closed_resolved(response)["content"][media_type]["schema"]
            self._validators[key, status] = jsonschema_rs.Draft202012Validator(
                {**schema, "components": self._closed["components"]}, validate_formats=True
            )
        return [str(error) for error in self._validators[key, status].iter_errors(body)]

    @cached_property
    def _closed(self) -> dict[str, Any]:
        """The description, with closed responses in which masked members are null."""
        closed = closed_responses(self._document)
        for schema in closed["components"]["schemas"].values():
            members = schema.get("properties", {})
            for name, member in members.items():
                if "x-masked-by" in member:
                    members[name] = {"type": "null"}
        return closed

    def _closed_resolved(self, response: Schema) -> Schema:
        name = response.get("$ref", "").rpartition("/")[2]
        return self._closed["components"]["responses"][name] if name else response
