"""The two operators and their common parts: a command's arguments, environment and outcome."""
