"""The page of an agent: what it shows (`agent_profile`), the rows of its tables (`table_rows`), and the page itself."""
