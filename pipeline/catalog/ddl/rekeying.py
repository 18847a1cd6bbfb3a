"""Apply an ALTER TABLE to a table's keys: columns renamed, then keys dropped, then added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pipeline.catalog.ddl.actions import Action, AddColumn, ChangeColumn, ChangeKeys, NewColumn
from pipeline.catalog.ddl.keys import Key, Keys, dropped, of_column, renamed, with_columns


def altered_keys(keys: Keys, names: Mapping[str, str | None], actions: Iterable[Action]) -> Keys:
    """Return the keys after the actions; `names` maps old column names to new ones or None."""
    actions = list(actions)
    added: list[Key] = []
    keys = _without_dropped(keys, actions)
    keys = with_columns(keys, names)
    for action in actions:
        if isinstance(action, ChangeKeys):
            if action.added is not None:
                added.append(action.added)
        elif isinstance(action, (AddColumn, ChangeColumn)):
            added += declared_key(action.column)
    if keys is None:
        return None
    # The server rejects a name in use or, with IF NOT EXISTS, ignores it.
    taken = {key.name.casefold() for key in keys if key.name}
    return (*keys, *(key for key in added if not key.name or key.name.casefold() not in taken))


def _without_dropped(keys: Keys, actions: Iterable[Action]) -> Keys:
    for action in actions:
        if not isinstance(action, ChangeKeys) or action.added is not None:
            continue
        if action.dropped is not None:
            keys = dropped(keys, action.dropped)
        elif action.renamed is not None:
            keys = renamed(keys, *action.renamed)
        else:
            keys = None  # the action could not be parsed
    return keys


def declared_key(column: NewColumn) -> list[Key]:
    """Return the key that a column's own declaration makes of it, if any."""
    if not (column.primary or column.unique):
        return []
    return [of_column(column.definition.name, primary=column.primary)]
