"""Fills the temporary directory and then its memory, in case the two are counted apart."""

with open("/tmp/hoard", "wb", buffering=0) as file:
    for _ in range(60):
        file.write(bytes(1 << 20))
print("60 MiB of files", flush=True)
hoard = [bytearray(b"x" * (1 << 20)) for _ in range(90)]
raise AssertionError("150 MiB of 128")
