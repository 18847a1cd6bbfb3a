"""Verify: whether gold is what its source has, by checksums that both can make.

`canonical` and the modules `snapshot…` need nothing but Python: they are the script for servers.
"""
