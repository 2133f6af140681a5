"""The message of EvalAI's agents, written by hand since the generated module no longer loads.

`Package` has one field of bytes. Agents import this module in place of their own.
"""

_TAG = 0x0A


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


class Package:
    """A message that carries a pickle."""

    def __init__(self, SerializedEntity: bytes = b"") -> None:  # noqa: N803  (the message's own word)
        self.SerializedEntity = SerializedEntity

    def SerializeToString(self) -> bytes:  # noqa: N802  (as Protocol Buffers has it)
        """The message in Protocol Buffers' encoding; an empty field is left out."""
        size = len(self.SerializedEntity)
        return bytes([_TAG]) + _varint(size) + self.SerializedEntity if size else b""

    @classmethod
    def FromString(cls, data: bytes) -> "Package":  # noqa: N802  (likewise)
        """The message in its encoding; raises ValueError for another message."""
        if not data:
            return cls()
        size, at = _read_varint(data, 1)
        if data[0] != _TAG or at + size != len(data):
            raise ValueError("not a Package")
        return cls(data[at:])
