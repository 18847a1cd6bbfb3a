"""What foreign keys change without the log saying so, worked out beforehand."""

from __future__ import annotations

__all__ = ["foresight", "outlook", "reader", "store"]
