"""The base of every settings model."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Frozen, strict about keys: the base of every settings model."""

    model_config = ConfigDict(frozen=True, extra="forbid")
