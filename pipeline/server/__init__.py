"""The source server itself, where it is asked: who logs in, the connection, what server it is."""
