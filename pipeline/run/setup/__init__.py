"""`binlake init`: a settings file for a server, from what the server says of itself."""

from __future__ import annotations

__all__ = ["proposal", "settings_file"]
