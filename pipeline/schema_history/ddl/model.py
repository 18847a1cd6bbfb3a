"""Table properties that only DDL declares, not table maps, and that later DDL depends on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from pydantic import TypeAdapter

from pipeline.schema_history.ddl.actions import NewColumn
from pipeline.schema_history.ddl.expression_reader import renamed_expression
from pipeline.schema_history.ddl.foreign_key_clause import ForeignKey, renamed_columns
from pipeline.schema_history.ddl.keys import DeclaredKeys
from pipeline.schema_history.ddl.partitions import Partitioning


@dataclass(frozen=True, slots=True)
class ColumnDefault:
    """The value of a column that an INSERT does not name, if the row image leaves it out too.

    `text` is the value as `pipeline.schema_history.ddl.defaults` writes it (None: NULL), evaluated
    when the column was declared; a non-empty `reason` says why the value is unknown. `nullable` is
    as of that declaration. `unlogged` marks a generated column: updates change it, but row images
    may leave it out; `expression` computes it (see `expression_reader`; empty: not understood).
    """

    name: str
    text: str | None = None
    reason: str = ""
    nullable: bool = True
    unlogged: bool = False
    expression: str = ""


@dataclass(frozen=True, slots=True)
class TableModel:
    """DDL-only properties of a table, known if its CREATE is in the log or the settings.

    `auto_increment` is the name of its AUTO_INCREMENT column; `generated` names its generated
    columns and `sources` (case-folded) the names in their expressions. `defaults` has one entry per
    column. `partitioning` is None if the table is not partitioned or the rows of its partitions
    cannot be determined. `left_out` is the reason why the table is not replicated, nor any table
    created LIKE it. `keys` are its PRIMARY and UNIQUE keys; `charset` is the default of its
    columns. `engine` is in capitals, empty if no statement names one.
    """

    auto_increment: str | None = None
    generated: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    engine: str = ""
    defaults: tuple[ColumnDefault, ...] = ()
    sources: tuple[str, ...] = ()
    partitioning: Partitioning | None = None
    left_out: str | None = None
    keys: DeclaredKeys = None
    charset: str | None = None

    @property
    def has_foreign_keys(self) -> bool:
        """True if the engine enforces foreign keys: others parse and discard them."""
        return self.engine in ("", "INNODB")

    @property
    def like(self) -> TableModel:
        """The properties that CREATE TABLE … LIKE copies."""
        return replace(self, foreign_keys=())

    def with_defaults(self, defaults: Iterable[ColumnDefault]) -> TableModel:
        """Return the model with these columns' current defaults."""
        known = {default.name: default for default in (*self.defaults, *defaults)}
        return replace(self, defaults=tuple(known.values()))

    def renamed(self, names: Mapping[str, str | None], declared: Iterable[NewColumn]) -> TableModel:
        """Return the model after a CREATE or ALTER TABLE.

        `names` maps old column names to new ones (None: dropped); `declared` are the columns that
        the statement declares, new or changed.
        """
        declared = list(declared)
        redeclared = {column.definition.name for column in declared}
        numbered = [c.definition.name for c in declared if c.computed == "AUTO_INCREMENT"]
        kept = names.get(self.auto_increment, self.auto_increment) if self.auto_increment else None
        generated = [names.get(name, name) for name in self.generated]
        refer = [(key, renamed_columns(key.columns, names)) for key in self.foreign_keys]
        return replace(
            self,
            auto_increment=numbered[0] if numbered else None if kept in redeclared else kept,
            generated=(
                *(name for name in generated if name is not None and name not in redeclared),
                *(column.definition.name for column in declared if column.is_generated),
            ),
            foreign_keys=tuple(replace(key, columns=now) for key, now in refer if now),
            defaults=self._renamed_defaults(names),
            sources=self._sources(names, declared),
            partitioning=self._partitioning(names),
        )

    def _sources(
        self, names: Mapping[str, str | None], declared: Iterable[NewColumn]
    ) -> tuple[str, ...]:
        """Keep the sources of dropped generated columns: too many are safer than too few."""
        folded = {old.casefold(): new and new.casefold() for old, new in names.items()}
        kept = {folded.get(name, name) for name in self.sources} - {None}
        return tuple(sorted({name for name in kept if name}.union(*(c.sources for c in declared))))

    def _partitioning(self, names: Mapping[str, str | None]) -> Partitioning | None:
        if self.partitioning is None:
            return None
        over = self.partitioning.column.casefold()
        now = next((new for old, new in names.items() if old.casefold() == over), over)
        return replace(self.partitioning, column=now) if now else None

    def generates_from(self, column: str) -> bool:
        """Return True if a generated column may be computed from this one."""
        return bool(self.generated) and column.casefold() in self.sources

    def _renamed_defaults(self, names: Mapping[str, str | None]) -> tuple[ColumnDefault, ...]:
        renamed = ((default, names.get(default.name, default.name)) for default in self.defaults)
        return tuple(
            replace(default, name=name, expression=renamed_expression(default.expression, names))
            for default, name in renamed
            if name is not None
        )

    def to_json(self) -> str:
        """Return a JSON object for `from_json`."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> TableModel:
        """Return the model that `to_json` wrote."""
        return _FORM.validate_json(text)


_FORM = TypeAdapter(TableModel)
