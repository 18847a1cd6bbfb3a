"""Table definitions over time: what DDL does, what table maps show, and which of both is in force.

`lexer` cuts a statement into tokens, `ddl` and `column_types` read them, `defaults` gives a DEFAULT
its value, `timeline` orders everything by position in the log, `definitions` keeps it in the lake.
"""
