"""Work on a board's whole repository: revealing and closing a season, moving to a newer Pullrank, erasing a person."""
