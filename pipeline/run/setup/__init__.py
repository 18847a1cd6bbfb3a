"""`binlake init`: a settings file for a server, from what the server reports."""

from __future__ import annotations

__all__ = ["proposal", "settings_file"]
