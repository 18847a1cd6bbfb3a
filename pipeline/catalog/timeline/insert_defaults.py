"""The values of columns that neither an INSERT nor its row image names.

A row image of `binlog_row_image=MINIMAL` has the columns that the statement names, and those whose
values the server computes per row: AUTO_INCREMENT, DEFAULT CURRENT_TIMESTAMP and other functions,
expressions, generated columns. It leaves out columns with a constant DEFAULT or none, which MySQL
sets to that constant, to NULL or, if NOT NULL, to their type's implicit default.

MariaDB computes VIRTUAL columns when they are read, and also leaves them out of MINIMAL updates.
In 11.8, updates and deletes have no generated columns, whatever binlog_row_image is.
"""

from __future__ import annotations

from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.catalog.ddl.actions import NewColumn
from pipeline.catalog.ddl.constants import constant
from pipeline.catalog.ddl.default_context import DefaultContext
from pipeline.catalog.ddl.defaults import default_text
from pipeline.catalog.ddl.expression_reader import changes_meaning
from pipeline.catalog.ddl.kept_expression import kept_expression
from pipeline.catalog.ddl.literals import Now, UnknownDefaultError
from pipeline.catalog.ddl.model import ColumnDefault
from pipeline.catalog.ddl.numeric_defaults import printed_float


def insert_default(column: NewColumn, context: DefaultContext, *, mariadb: bool) -> ColumnDefault:
    """Return the DEFAULT of a column with this declaration, or the reason why it is unknown."""
    name, nullable = column.definition.name, column.definition.nullable
    generated = bool(column.computed) and column.computed != "AUTO_INCREMENT"
    try:
        if column.default and isinstance(constant(column.default, context), Now):
            raise UnknownDefaultError("the time of the insert")
        text = default_text(column, context)
        if text is not None and not _keeps_digits(column.definition, text):
            raise UnknownDefaultError(
                "a FLOAT with more than six digits, which any later ALTER rounds"
            )
        return ColumnDefault(name, text, nullable=nullable)
    except UnknownDefaultError as error:
        unlogged = generated and mariadb
        understood = unlogged and not changes_meaning(context.sql_mode, mariadb=mariadb)
        kept = kept_expression(column.expression) if understood else ""
        return ColumnDefault(
            name, reason=str(error), nullable=nullable, unlogged=unlogged, expression=kept
        )


def _keeps_digits(column: ColumnDefinition, text: str) -> bool:
    """Return True if the server reads back the value that it prints."""
    single = column.type is ColumnType.FLOAT and not column.precision
    return not single or printed_float(text) == text
