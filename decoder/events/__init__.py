"""Control events: one file each, with the byte layout beside every field.

`registry.parse` reads any event; what is not in its table becomes an `UnknownEvent`.
"""
