"""The records of runs: what each one read, wrote and left out, and why."""
