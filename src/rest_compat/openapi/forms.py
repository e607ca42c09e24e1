"""Request bodies of uploads: the bytes, or a form with one file."""

from rest_compat.multipart import FORM
from rest_compat.openapi.schema_values import JsonSchema, schema_ref

BYTES: JsonSchema = {"type": "string", "format": "binary"}
FILE_FORM = "FileForm"
FORM_SCHEMA: JsonSchema = {
    "description": "One file part, of any name, and nothing else.",
    "type": "object",
    "properties": {"file": BYTES},
    "required": ["file"],
    "additionalProperties": False,
}
UPLOAD_CONTENT: JsonSchema = {
    "application/octet-stream": {"schema": BYTES},
    FORM: {"schema": schema_ref(FILE_FORM)},
}
OPTIONAL_IN_FORMS: JsonSchema = {
    "required": False,
    "description": "1 to 255 characters; required unless the file part of a form has a file name.",
}
