"""The door for pasted text: a log, JSON, YAML or a command, whatever it turns out to be.

YAML is read with PyYAML, and only what a configuration needs of it: no tags, no aliases, bounded length and depth.
"""

from typing import Any

import yaml

from calc.checkpoint import InvalidFile
from calc.errors import InvalidInput
from calc.json_door import load_json
from calc.paste.commands import MOST, read_command
from calc.paste.logs import Log, read_log
from calc.paste.pasted import Pasted
from calc.paste.training import read_training

DEEPEST = 20
"""Levels of a configuration."""


class _Loader(yaml.SafeLoader):
    """Refuses what could grow or build anything."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node, unless it stands for another one or lies too deep."""
        if self.check_event(yaml.AliasEvent):
            raise InvalidInput("yaml_alias", place="paste")
        self.depth += 1
        if self.depth > DEEPEST:
            raise InvalidInput("nested_too_deep", place="paste")
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def read_paste(text: str) -> Pasted | Log | None:
    """What a text is, as inputs or as a log; ``None`` if it is nothing that is known.

    Raises:
        InvalidInput: for a text that is too long, or a broken command or configuration.
    """
    command = read_command(text) if len(text) <= MOST else None
    if command:
        return command
    log = read_log(text)
    if log or len(text) > MOST:
        return log
    found = _mapping(text)
    return read_training(found) if found else None


def _mapping(text: str) -> dict[str, object] | None:
    """A configuration as a mapping; ``None`` for any other text."""
    try:
        found = (
            load_json(text.encode(errors="replace"), place="paste")
            if text.lstrip().startswith("{")
            else yaml.load(text, _Loader)
        )
    except (yaml.YAMLError, InvalidFile, ValueError, TypeError, RecursionError):
        return None
    return {str(key): value for key, value in found.items()} if isinstance(found, dict) else None
