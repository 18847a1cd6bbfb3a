"""The two operators, and what both do: a command's arguments, environment and outcome."""
