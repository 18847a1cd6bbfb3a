"""An Airflow connection to the source server, as an environment variable for a command.

The connection is looked up when the task runs. Its password is never part of an argument, template
or XCom, and Airflow masks it in logs, both as is and percent-encoded.
"""

from __future__ import annotations

from urllib.parse import quote

from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowFailException
from airflow.sdk.log import mask_secret

VARIABLE = "BINLAKE_SERVER"
"""`mysql://user:password@host:port`, percent-encoded: see docs/guides/configuration.md."""


def server_environment(connection: str | None) -> dict[str, str]:
    """Return the environment variable to set; none without a connection.

    Host, port, login and password are used. Schema and extra are ignored: TLS is configured in the
    settings. Raises AirflowFailException if the connection has no host.
    """
    return {} if connection is None else {VARIABLE: _url(Connection.get(connection))}


def _url(connection: Connection) -> str:
    if not connection.host:
        raise AirflowFailException(
            f"The Airflow connection {connection.conn_id} has no host: set that of the source"
            " server."
        )
    host = f"[{connection.host}]" if ":" in connection.host else quote(connection.host, safe="")
    user = quote(connection.login or "", safe="")
    if connection.password:
        encoded = quote(connection.password, safe="")
        mask_secret(connection.password)
        mask_secret(encoded)
        user = f"{user}:{encoded}"
    at = f"{user}@" if user else ""
    port = f":{connection.port}" if connection.port else ""
    return f"mysql://{at}{host}{port}"
