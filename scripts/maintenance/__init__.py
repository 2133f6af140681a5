"""Work on a board's whole repository: closing a season, moving to a newer Pullrank, erasing a person."""
