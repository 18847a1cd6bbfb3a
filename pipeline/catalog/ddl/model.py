"""What DDL tells of a table that no table map shows, and that later DDL depends on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from pydantic import TypeAdapter

from pipeline.catalog.ddl.actions import NewColumn
from pipeline.catalog.ddl.foreign_key import ForeignKey, renamed_columns
from pipeline.catalog.ddl.kept_expression import renamed_expression
from pipeline.catalog.ddl.keys import Keys
from pipeline.catalog.ddl.partitions import Partitioning


@dataclass(frozen=True, slots=True)
class ColumnDefault:
    """What an insert that does not name a column gives to it, where its row image leaves it out.

    `text` is the value as `pipeline.catalog.ddl.defaults` writes it (None: NULL), fixed when it was
    declared; with a `reason` it is not known. `nullable`: whether the column was then. `unlogged`:
    it is generated, updates change it, and images may leave it out; by which `expression` (see
    `kept_expression`; empty: it is not understood).
    """

    name: str
    text: str | None = None
    reason: str = ""
    nullable: bool = True
    unlogged: bool = False
    expression: str = ""


@dataclass(frozen=True, slots=True)
class TableModel:
    """Known only of a table whose CREATE is in the log, or that conf declares.

    `auto_increment` names its column of that kind, `generated` those that are computed from others,
    whose names, without regard to case, are among `sources`. `defaults` are those of all columns.
    `partitioning` tells which rows its partitions hold, if it has some and that can be told.
    `left_out` says why it is no table to replicate, and no table created LIKE it is. `keys` are its
    PRIMARY and UNIQUE ones, `charset` what columns that name none are in. `engine` is in capitals,
    empty where no statement names it.
    """

    auto_increment: str | None = None
    generated: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    engine: str = ""
    defaults: tuple[ColumnDefault, ...] = ()
    sources: tuple[str, ...] = ()
    partitioning: Partitioning | None = None
    left_out: str | None = None
    keys: Keys = None
    charset: str | None = None

    @classmethod
    def of(cls, columns: Iterable[NewColumn], engine: str = "") -> TableModel:
        """The model of a table that is declared with these columns."""
        return cls(engine=engine).renamed({}, columns)

    @property
    def has_foreign_keys(self) -> bool:
        """Whether its engine knows any: other ones read them and forget them."""
        return self.engine in ("", "INNODB")

    @property
    def like(self) -> TableModel:
        """What CREATE TABLE … LIKE takes over of it."""
        return replace(self, foreign_keys=())

    def with_defaults(self, defaults: Iterable[ColumnDefault]) -> TableModel:
        """Return the model with these columns as they are declared now."""
        known = {default.name: default for default in (*self.defaults, *defaults)}
        return replace(self, defaults=tuple(known.values()))

    def renamed(self, names: Mapping[str, str | None], declared: Iterable[NewColumn]) -> TableModel:
        """After an ALTER: old names to new ones (None: dropped), and what it declares (anew)."""
        declared = list(declared)
        anew = {column.definition.name for column in declared}
        numbered = [c.definition.name for c in declared if c.computed == "AUTO_INCREMENT"]
        kept = names.get(self.auto_increment, self.auto_increment) if self.auto_increment else None
        generated = [names.get(name, name) for name in self.generated]
        refer = [(key, renamed_columns(key.columns, names)) for key in self.foreign_keys]
        return replace(
            self,
            auto_increment=numbered[0] if numbered else None if kept in anew else kept,
            generated=(
                *(name for name in generated if name is not None and name not in anew),
                *(
                    c.definition.name
                    for c in declared
                    if c.computed and c.computed != "AUTO_INCREMENT"
                ),
            ),
            foreign_keys=tuple(replace(key, columns=now) for key, now in refer if now),
            defaults=self._renamed_defaults(names),
            sources=self._sources(names, declared),
            partitioning=self._partitioning(names),
        )

    def _sources(
        self, names: Mapping[str, str | None], declared: Iterable[NewColumn]
    ) -> tuple[str, ...]:
        """Those of generated columns that go stay among them: rather too many than too few."""
        folded = {old.casefold(): new and new.casefold() for old, new in names.items()}
        kept = {folded.get(name, name) for name in self.sources} - {None}
        return tuple(sorted({name for name in kept if name}.union(*(c.sources for c in declared))))

    def _partitioning(self, names: Mapping[str, str | None]) -> Partitioning | None:
        if self.partitioning is None:
            return None
        over = self.partitioning.column.casefold()
        now = next((new for old, new in names.items() if old.casefold() == over), over)
        return self.partitioning.renamed(now) if now else None

    def generates_from(self, column: str) -> bool:
        """Whether a generated column may be computed from this one."""
        return bool(self.generated) and column.casefold() in self.sources

    def _renamed_defaults(self, names: Mapping[str, str | None]) -> tuple[ColumnDefault, ...]:
        renamed = ((default, names.get(default.name, default.name)) for default in self.defaults)
        return tuple(
            replace(default, name=name, expression=renamed_expression(default.expression, names))
            for default, name in renamed
            if name is not None
        )

    def to_json(self) -> str:
        """A JSON object that `from_json` reads back."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> TableModel:
        """The model that `to_json` wrote."""
        return _FORM.validate_json(text)


_FORM = TypeAdapter(TableModel)
