"""What the DAGs are made of: parsed again and again, so nothing of Spark's is imported here."""
