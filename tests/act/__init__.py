"""The workflows as they are under `act`, with the real code of the actions; runner.py names the one line kept from act."""
