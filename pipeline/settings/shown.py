"""Settings as `binlake config` shows them: in the form of a settings file, without secrets."""

from __future__ import annotations

import json
from typing import Any

import yaml

from pipeline.observe import redact
from pipeline.observe.redaction import MASK, is_secret
from pipeline.settings.file import LITERAL
from pipeline.settings.settings import Settings


def as_yaml(settings: Settings) -> str:
    """Return all settings as YAML, which can be used as a `--conf` file."""
    values = shown(settings)
    written = {key: one if key == LITERAL else _written(one) for key, one in values.items()}
    return yaml.safe_dump(written, sort_keys=False, allow_unicode=True, width=100)


def as_json(settings: Settings) -> str:
    """Return all settings as one JSON object."""
    return json.dumps(shown(settings), ensure_ascii=False)


def shown(settings: Settings) -> dict[str, Any]:
    """Return all settings by name, as plain values; secrets are `***`."""
    values: dict[str, Any] = settings.model_dump(mode="json")
    return {name: _without_secrets(name, value) for name, value in values.items()}


def _written(value: Any) -> Any:
    """Escape `${` in all texts, where it would begin a variable."""
    if isinstance(value, dict):
        return {key: _written(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_written(one) for one in value]
    return value.replace("${", "$${") if isinstance(value, str) else value


def _without_secrets(name: str, value: Any, *, secret: bool = False) -> Any:
    secret = secret or is_secret(name)
    if isinstance(value, dict):
        return {key: _without_secrets(key, one, secret=secret) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_secrets(name, one, secret=secret) for one in value]
    if secret and value is not None:
        return MASK
    return redact.value(value)
