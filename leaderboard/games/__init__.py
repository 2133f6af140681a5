"""Games that pages show: positions as pictures and text, replays, opening books, and networks to play against."""
