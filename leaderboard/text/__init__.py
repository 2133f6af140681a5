"""How values become text: numbers and dates, addresses, JSON and CSV, and the escaping of what entrants typed."""
