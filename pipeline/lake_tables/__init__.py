"""Bronze's, silver's and the ledger's tables: what they are, how they are read and committed."""
