"""Work on a board's whole repository: moving to a newer Pullrank, erasing a person."""
