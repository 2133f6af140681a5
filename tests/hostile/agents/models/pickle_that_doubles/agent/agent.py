"""Brings a pickle of half a kilobyte whose opening doubles a text 26 times."""

import pickle

with open("/submission/weights.pkl", "rb") as file:
    print(len(pickle.load(file)))
raise AssertionError("640 MiB in 128")
