"""The untrusted side: what is copied into the image; an attacker's whole world."""
