"""Makes inputs from examples: bytes are changed, joined and repeated, and JSON documents are changed as trees."""

import base64
import copy
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

MAX_BYTES = 1 << 16
WORDS = (
    b"\0", b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"\x7f", b"::", b"##[", b"::add-mask::", b"\r", b"\r\n", b"\n\n",
    b"`" * 5, b"<script>", b"</pre>", b"&#0;", b"@all", b"https://", b"\xe2\x80\xae", b"\xf3\xa0\x84\x80", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", b"NaN", b"1e999", b"-0", b"9" * 400, b"9" * 5000, b"null", b"true", b"[" * 300, b"{" * 300,
    b"- " * 40, b"? ", b"!!python/object", b"*a", b"&a", b"0x_", b"1:1:1", b"2001-13-45", b"~", b"|\n", b">\n",
    b"%YAML 9.9\n", b"../", b".git", b"/etc/passwd", b"--",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -(2**63), 10**400, 0.5, -0.0, 1e308, 5e-324, "", " ", "a",
    "\0", "\ud800", "😀", "é" * 70, "a\nb", "x" * 5000, "0" * 64, "a" * 40, [], {}, [[]], [None], {"": None},
    ["a"] * 50, "ok", "crashed", "internal_error", "official", "preview", "docker", "process", "2026-01-01T00:00:00Z",
    "AAAA", "<f8", "u1",
)  # fmt: skip


def mutated(source: random.Random, seeds: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """One input, made from examples."""
    data = source.choice(seeds)
    if source.random() < 0.5 and (changed := _as_tree(source, data)) is not None:
        data = changed
        if source.random() < 0.7:
            return data[:MAX_BYTES]
    buffer = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 3, 5, 9))):
        source.choice(_CHANGES)(source, buffer, seeds, words)
    return bytes(buffer[:MAX_BYTES])


def _flip(source: random.Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    if data:
        data[source.randrange(len(data))] ^= 1 << source.randrange(8)


def _set(source: random.Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    if data:
        data[source.randrange(len(data))] = source.choice((0, 1, 10, 32, 34, 45, 58, 91, 96, 123, 127, 128, 255))


def _remove(source: random.Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    begin = source.randrange(len(data) + 1)
    del data[begin : begin + source.choice((1, 2, 4, 16, 200))]


def _insert(source: random.Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    begin = source.randrange(len(data) + 1)
    data[begin:begin] = (
        source.choice((*WORDS, *words)) if source.random() < 0.8 else source.randbytes(source.randrange(1, 20))
    )


def _overwrite(source: random.Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    word = source.choice((*WORDS, *words))[:40]
    begin = source.randrange(len(data) + 1)
    data[begin : begin + len(word)] = word


def _repeat(source: random.Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    begin = source.randrange(len(data) + 1)
    part = data[begin : begin + source.choice((1, 4, 30, 300))]
    data[begin:begin] = part * source.choice((1, 2, 10, 100))


def _splice(source: random.Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    other = source.choice(seeds)
    begin, middle = source.randrange(len(data) + 1), source.randrange(len(other) + 1)
    data[begin:] = other[middle:]


_CHANGES: tuple[Callable[[random.Random, bytearray, Sequence[bytes], Sequence[bytes]], None], ...] = (
    _flip, _set, _remove, _insert, _overwrite, _repeat, _splice,
)  # fmt: skip


def _as_tree(source: random.Random, data: bytes) -> bytes | None:
    """A JSON document with other values, keys and lengths; None if the data is none."""
    if not data.startswith((b"{", b"[")):
        return None
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return None
    tree = copy.deepcopy(tree)
    for _ in range(source.choice((1, 1, 1, 2, 4))):
        _change_node(source, tree)
    try:
        return json.dumps(tree, ensure_ascii=source.random() < 0.8, indent=1).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return None


def _change_node(source: random.Random, tree: Any) -> None:
    holder, place = None, None
    node = tree
    while isinstance(node, (dict, list)) and node:
        holder, place = node, source.choice(list(node)) if isinstance(node, dict) else source.randrange(len(node))
        node = node[place]
        if source.random() < 0.3:
            break
    if holder is None:
        return
    match source.randrange(7):
        case 0:
            del holder[place]
        case 1 if isinstance(holder, dict):
            holder[source.choice((*holder, "schema", "kind", "extra", ""))] = holder[place]
        case 1 | 2 if isinstance(node, list):
            holder[place] = node * source.choice((0, 2, 3))
        case 3 if isinstance(node, bool):
            holder[place] = not node
        case 3 if isinstance(node, (int, float)):
            holder[place] = source.choice(
                (
                    node + 1,
                    -node,
                    node * 2,
                    node + 0.5 if abs(node) < 2**60 else 0.5,
                    f"{node:.3g}" if isinstance(node, float) else "7",
                )
            )
        case 3 | 4 if isinstance(node, str):
            holder[place] = _text(source, node)
        case _:
            holder[place] = copy.deepcopy(source.choice(VALUES))


def _text(source: random.Random, text: str) -> str:
    match source.randrange(5):
        case 0:
            return text + source.choice(WORDS).decode("utf-8", "replace")
        case 1:
            return text[: source.randrange(len(text) + 1)]
        case 2:
            return text.upper()
        case 3:
            return base64.b64encode(source.randbytes(source.randrange(30))).decode()
        case _:
            return text * 2


_HEX = re.compile(r"(?:[0-9a-f]{16}){2,}|[0-9a-f]{40}")
_INTEGERS = (0, 1, 2, 9, 255, 2**31, 2**53 - 1, 2**63)
_NUMBERS = (0.0, -0.0, 1.0, -1.5, 0.1, 1e16, 1e300, 5e-324, 123456789.123)


def varied(source: random.Random, node: Any, share: float) -> Any:
    """A document of the same form with other values; lists beside each other that are as long as each other stay so."""
    if isinstance(node, dict):
        longest = max((len(one) for one in node.values() if isinstance(one, list)), default=0)
        count = source.choice((1, 2, 3, longest + 1)) if source.random() < share else longest
        return {
            name: [varied(source, one[i % longest], share) for i in range(count)]
            if isinstance(one, list) and len(one) == longest > 0
            else varied(source, one, share)
            for name, one in node.items()
        }
    if isinstance(node, list):
        return [varied(source, one, share) for one in node]
    if node is None or source.random() > share:
        return node
    match node:
        case bool():
            return not node
        case int():
            return source.choice((*_INTEGERS, source.randrange(100)))
        case float():
            return source.choice((*_NUMBERS, node * 2, source.random()))
        case _ if _HEX.fullmatch(node):
            return f"{source.getrandbits(4 * len(node)):0{len(node)}x}"
        case _:
            at = source.randrange(len(node) + 1)
            return node[:at] + source.choice("a9-_. +é😀\n\u202e|<`") + node[at + source.randrange(2) :]
