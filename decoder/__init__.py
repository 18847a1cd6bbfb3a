"""MySQL and MariaDB binary logs: bytes in, Arrow out. No Spark, no files, no clock, no logging."""
