"""The static site as a whole: building it, its rendered episodes and game frames, and what was deployed last."""
