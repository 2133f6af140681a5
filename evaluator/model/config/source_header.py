"""The manifest as a comment at the top of agent.py: YAML between the lines `# /// pullrank` and `# ///`, read and never run.

Python must see nothing but comments where we see the header: else code could stand in lines that no digest covers. So only
blank lines and comments may stand before it, in UTF-8, without any character that some reader takes for the end of a line.
"""

import re
from dataclasses import dataclass

from evaluator.model.visible_text import INVISIBLE

SOURCE_NAME = "agent.py"
OPENING, CLOSING = "# /// pullrank", "# ///"
# The header ends within this many bytes of the file's beginning.
HEADER_BYTES = 16 << 10
_LINE_END = re.compile(rb"\r\n|\r|\n")
# What a person could take for a header.
_ALIKE = re.compile(rb"[ \t]*#+[ \t]*/{3,}[ \t]*pullrank\b", re.IGNORECASE)
_FENCE = re.compile(rb"[\W_]{0,12}pullrank[\W_]{0,12}", re.IGNORECASE)
_KEY = re.compile(rb"[ \t]*#+[ \t]*(?:name|algorithm)[ \t]*:[ \t]*\S")
# On a line of its own. A file may have millions of lines, so nothing is made for each: a search begins at the words.
_FIRST_LINE = re.compile(rb"# /// pullrank(?<![^\r\n]# /// pullrank)[ \t]*(?:[\r\n]|\Z)")
# As Python looks for it in the first two lines (PEP 263).
_CODING = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_UTF_8 = (b"utf-8", b"utf8")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class HeaderError(ValueError):
    """A header cannot be read: what is wrong with it, and in which line of the file."""

    def __init__(self, line: int, words: str) -> None:
        self.line = line
        super().__init__(words)


@dataclass(frozen=True, kw_only=True)
class SourceHeader:
    """The header of a file."""

    yaml: bytes
    """What stands in it, on the same lines as in the file."""
    rest: bytes
    """The file without it, and without an empty line after it."""


def find_header(source: bytes) -> SourceHeader | None:
    """The header at the top of a file; None if there is none.

    Raises:
        HeaderError: there is something like one, which is not as it must be.
    """
    lines, ends = _first_lines(source)
    begin = _opening(lines)
    if begin is None:
        return None
    if lines[begin] != OPENING.encode():
        raise HeaderError(begin + 1, f"looks like a header; write its first line exactly as {OPENING!r}")
    end = _closing(lines, begin)
    head = source[: ends[end]]
    _check_text(head)
    _check_encoding(lines)
    if second := _FIRST_LINE.search(source, ends[begin]):
        raise HeaderError(_line_ends(source, second.start()) + 1, "a second header begins here; keep one")
    start = ends[begin - 1] if begin else 0
    after = source[ends[end] :]
    blank = _LINE_END.match(after)
    content = [line[2:] for line in lines[begin + 1 : end]]
    return SourceHeader(
        yaml=b"\n" * (begin + 1) + b"\n".join(content) + b"\n",
        rest=source[:start] + (after[blank.end() :] if blank else after),
    )


def has_first_line(source: bytes) -> bool:
    """Whether the first line of a header stands anywhere in a file."""
    return _FIRST_LINE.search(source) is not None


def _line_ends(source: bytes, end: int) -> int:
    """The ends of lines before a place."""
    return source.count(b"\n", 0, end) + source.count(b"\r", 0, end) - source.count(b"\r\n", 0, end)


def header_of(yaml: bytes) -> bytes:
    """A header with the lines of a manifest; what only editors read at its top is left out."""
    lines = [line for line in yaml.splitlines() if not line.startswith(b"# yaml-language-server")]
    return b"".join(
        line + b"\n" for line in (OPENING.encode(), *((b"# " + line).rstrip() for line in lines), CLOSING.encode())
    )


def near_header(source: bytes) -> HeaderError | None:
    """What a person may have meant as a header where there is none: another fence, or keys without one."""
    for number, line in enumerate(_first_lines(source)[0], 1):
        if _FENCE.fullmatch(line):
            return HeaderError(number, f"looks like a header; write its first line exactly as {OPENING!r}, before any code")
        if _KEY.match(line):
            words = (
                f"looks like a header without its first line; write {OPENING!r} above its keys and {CLOSING!r} below them"
            )
            return HeaderError(number, words)
    return None


def without_header(source: bytes) -> bytes:
    """A file without its header; unchanged if it has none, or one that cannot be read."""
    try:
        header = find_header(source)
    except HeaderError:
        return source
    return header.rest if header else source


def _first_lines(source: bytes) -> tuple[list[bytes], list[int]]:
    """The complete lines within the bound, and where each ends. A lone carriage return ends a line, as for Python."""
    lines, ends, start = [], [], 0
    for match in _LINE_END.finditer(source, 0, HEADER_BYTES):
        lines.append(source[start : match.start()])
        ends.append(start := match.end())
    if len(source) <= HEADER_BYTES and start < len(source):
        lines.append(source[start:])
        ends.append(len(source))
    return lines, ends


def _opening(lines: list[bytes]) -> int | None:
    """The first line that looks like a header's, among the comments and blank lines at the top."""
    for index, line in enumerate(lines):
        text = line if index else line.removeprefix(_BYTE_ORDER_MARK)
        if _ALIKE.match(text):
            return index
        if text.strip() and not text.lstrip().startswith(b"#"):
            return None
    return None


def _closing(lines: list[bytes], begin: int) -> int:
    for index in range(begin + 1, len(lines)):
        if lines[index] == CLOSING.encode():
            return index
        if lines[index] != b"#" and not lines[index].startswith(b"# "):
            raise HeaderError(index + 1, f"a line of the header begins with '# ', and its last line is {CLOSING!r}; add one")
    raise HeaderError(begin + 1, f"the header does not end within {HEADER_BYTES >> 10} KiB; end it with {CLOSING!r}")


def _check_text(head: bytes) -> None:
    """Raise HeaderError for what another reader could see otherwise, from the file's first byte to the header's end."""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        line = len(_LINE_END.findall(head, 0, error.start)) + 1
        raise HeaderError(line, "is not UTF-8 text; save the file as UTF-8") from error
    text = text.replace("\r\n", "\n")
    if match := INVISIBLE.search(text):
        line = text[: match.start()].count("\n") + 1
        raise HeaderError(line, f"holds the invisible character U+{ord(match.group()):04X}; remove it")


def _check_encoding(lines: list[bytes]) -> None:
    """Raise HeaderError for a declaration by which Python would read other characters than we do."""
    for index, line in enumerate(lines[:2]):
        declared = _CODING.match(line)
        if declared and declared[1].lower().replace(b"_", b"-") not in _UTF_8:
            raise HeaderError(index + 1, "a file with a header is UTF-8; leave out the declaration of another encoding")
