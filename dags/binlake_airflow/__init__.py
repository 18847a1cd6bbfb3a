"""The building blocks of the DAGs. Airflow imports them at every parse: never import Spark here."""
