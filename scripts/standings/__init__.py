"""The standings of a checkout: of what is recorded, and with an agent that is not merged yet."""
