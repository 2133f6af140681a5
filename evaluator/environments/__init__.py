"""Environments and games of our own, to Gymnasium's and PettingZoo's interfaces; a host adds his here."""
