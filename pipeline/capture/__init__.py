"""A live server's binary logs, landed byte for byte in a folder: `binlake capture`."""
