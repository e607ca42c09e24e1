"""`docs/reference/commands.md`: every command with its arguments and options."""

import re
from collections.abc import Iterator
from typing import Any, get_args

import typer

from gateway.cli.main import NAME, app

_HEAD = f"""# Commands

`{NAME} …`, or `./run …` in a checkout. This page is generated from `src/gateway/cli`.

Data goes to standard output, messages go to standard error. With `--json` the data is one JSON
document, whose members keep their names. Secrets come from the environment, a file or standard
input, never as an argument; a token's text is shown once, when it is created.

| Exit code | Meaning |
|---|---|
| 0 | success |
| 1 | failed or refused, or a check is negative (`rule test`, `doctor`, `schema check`) |
| 2 | wrong usage: arguments are missing, invalid or contradictory |
| 130 | interrupted by Ctrl-C |

A failure is one line on standard error. `{NAME} --install-completion` adds completion to
the shell, and `./run --install-completion` does so for `./run`. Progress is shown on a terminal
only, and `NO_COLOR` switches colours off.
"""


def commands_page() -> str:
    """Return the page: a table of all commands by group, then each with its parameters."""
    root = typer.main.get_command(app)
    context = typer.Context(root, info_name=NAME)
    commands = list(_leaves(root, context, ()))
    lines = [_HEAD]
    for group in dict.fromkeys(group for group, *_ in commands):
        lines += [f"## {group}", "", "| Command | Does |", "|---|---|"]
        for command_group, words, command in commands:
            if command_group == group:
                link, does = "-".join(words), _paragraphs(command.help)[0].replace("|", "\\|")
                lines.append(f"| [`{' '.join(words)}`](#{link}) | {does} |")
        lines.append("")
    lines += ["## Reference", ""]
    for _, words, command in commands:
        lines += _describe(words, command)
    return "\n".join(lines).rstrip() + "\n"


def _leaves(
    command: Any, context: Any, words: tuple[str, ...], group: str = ""
) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Yield group, words and command of every command in the tree that can be run."""
    if not hasattr(command, "commands") or (words and command.invoke_without_command):
        yield group, words, command
    if hasattr(command, "commands"):
        for name in command.list_commands(context):
            child = command.commands[name]
            yield from _leaves(child, context, (*words, name), group or child.rich_help_panel)


def _describe(words: tuple[str, ...], command: Any) -> Iterator[str]:
    parameters = [
        parameter
        for parameter in command.params
        if not parameter.hidden and "--help" not in parameter.opts
    ]
    arguments = [item for item in parameters if item.param_type_name == "argument"]
    options = ["[OPTIONS]"] if len(arguments) < len(parameters) else []
    usage = " ".join([NAME, *words, *options, *map(_metavar, arguments)])
    text = "\n\n".join(_paragraphs(command.help))
    yield from (f"### {' '.join(words)}", "", "```", usage, "```", "", text, "")
    if parameters:
        yield from ("| | Takes | Meaning |", "|---|---|---|")
        for parameter in parameters:
            yield f"| {_names(parameter)} | {_kind(parameter)} | {_meaning(parameter)} |"
        yield ""


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_metavar(parameter)}`"
    names = [*parameter.opts, *parameter.secondary_opts]
    return ", ".join(f"`{name}`" for name in names)


def _metavar(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name).strip("[]").upper()
    many = " …" if parameter.nargs != 1 else ""
    return f"{name}{many}" if parameter.required else f"[{name}{many}]"


def _kind(parameter: Any) -> str:
    if getattr(parameter, "is_flag", False):
        return "-"
    annotation = parameter.type_descriptor.annotation
    kind = "number" if int in (annotation, *get_args(annotation)) else "text"
    several = ", several times" if getattr(parameter, "multiple", False) else ""
    return f"{kind}{several}"


def _meaning(parameter: Any) -> str:
    words = (parameter.help or "").replace("|", "\\|")
    if parameter.param_type_name == "option":
        if parameter.required:
            return f"{words} Required."
        if parameter.default not in (None, False, True, "", ()):
            return f"{words} Default: `{parameter.default}`."
    return words


def _paragraphs(text: str | None) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", (text or "").strip())]
