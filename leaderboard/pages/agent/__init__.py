"""The page of an agent: what it shows (`agent_profile`), its tables (`agent_table_rows`), and the page itself."""
