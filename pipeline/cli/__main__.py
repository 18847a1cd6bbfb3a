"""`python -m pipeline.cli`: the `binlake` command."""

from __future__ import annotations

from pipeline.cli.app import main

main()
