"""Silver's changes become tables that equal the source's own at a commit."""
