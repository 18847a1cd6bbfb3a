"""Session settings that a server does not disclose."""

from __future__ import annotations

from pyspark.errors import PySparkException


class HiddenSettings:
    """Settings as on Databricks serverless compute: reading one raises, whatever default is
    passed.
    """

    def __init__(self, condition: str) -> None:
        self.error = PySparkException(f"[{condition}] The setting is not available.")
        self.error._errorClass = condition

    def get(self, name: str, default: str | None = None) -> str | None:
        """Raise."""
        raise self.error
