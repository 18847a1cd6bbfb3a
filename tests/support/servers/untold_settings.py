"""A session's settings where a server does not tell them."""

from __future__ import annotations

from pyspark.errors import PySparkException


class Untold:
    """As Databricks' serverless compute has them: each raises, whatever default is asked for."""

    def __init__(self, condition: str) -> None:
        self.error = PySparkException(f"[{condition}] It is not told.")
        self.error._errorClass = condition

    def get(self, name: str, default: str | None = None) -> str | None:
        """Raise."""
        raise self.error
