"""Names of a face that are imported on first use, because importing all of them takes long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `names`: those that it has from each module."""
    homes = {name: module for module, listed in names.items() for name in listed.split()}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # With a list of names, as `from … import name` does: it may be a module, too.
        return getattr(__import__(homes[name], fromlist=[name]), name)

    return find
