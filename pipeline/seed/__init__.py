"""The state that tables start with: rows of a server or of a dump, as if they had been logged."""
