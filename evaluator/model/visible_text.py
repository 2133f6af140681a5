"""Text that strangers typed, as people may see it: nothing hides or reorders, and no line commands a workflow's runner.

Descriptions, messages and logs are shown with `visible`, which changes what hides. Names are stricter: `name_fault` says why
a new name is refused. Models do not ask it, so that documents of earlier rules stay readable.
"""

import re
import unicodedata
from itertools import groupby

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Refused in every document that a person writes: controls, and what hides or reorders text.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb"
# Unicode's Default_Ignorable_Code_Point, less joiners (U+200C, U+200D), tags and selectors of variants, which follow.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
_TAGS = "\U000e0000-\U000e0fff"
_SELECTORS = "\ufe00-\ufe0f"
_JOINERS = "\u200c\u200d"
_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(
    f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 17 << 16, 1 << 16)
)
# Drawn without ink, though they are no spaces.
_BLANKS = "\u2800\U0001d159"
# As character classes, for Python and for the scripts of pages. None of these may stand in a name.
HIDDEN_IN_NAMES = f"[{_CONTROLS}{_IGNORABLE}{_TAGS}{_SELECTORS}{_JOINERS}{_NONCHARACTERS}{_BLANKS}]"
_HIDDEN_IN_NAMES = re.compile(HIDDEN_IN_NAMES)
# The same for texts of several lines, where scripts and emoji need some of them.
HIDDEN_IN_TEXTS = f"[{_CONTROLS}{_IGNORABLE}{_TAGS}{_NONCHARACTERS}]"
_HIDDEN = re.compile(HIDDEN_IN_TEXTS)
# One selector after a sign only chooses between two pictures of it.
_SELECTED, _BLANK = re.compile(f"[{_SELECTORS}]"), re.compile(f"[{_BLANKS}]")
# Joiners join letters of scripts that need them, and emoji; elsewhere, and in a row, they only carry hidden bits.
_LOOSE_JOINERS = re.compile(f"(?:^|(?<=[\x00-\x7f]))[{_JOINERS}]+|(?<=[{_JOINERS}])[{_JOINERS}]+")
# Accents beyond two on one letter cover the lines above and below.
_STACKED = re.compile("(?<=[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{2})"
                      "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")  # fmt: skip
_MARKS_IN_A_ROW = 2
# Other scripts have letters with three or four marks. `_without_towers` looks at longer runs of what is no letter.
_MOST_MARKS = 4
_LONG_RUN = re.compile(rf"[^\w\s\x00-\x7f]{{{_MOST_MARKS + 1},}}")
# What may need a change; looking for it first is ten times as fast as making each change in turn.
_SUSPICIOUS = re.compile(
    "[^\t\n -~\xa0-\xac\xae-\u02ff\u0370-\u0482\u048a-\u061b\u061d-\u115e\u2010-\u2027\u202f-\u205f\u2070-\u20cf"
    "\u2100-\u27ff\u3000-\u3163\u3165-\ud7ff\U0001f000-\U0001faff\U00020000-\U0002ffef]+"
)
_COMMAND_LINE = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
_COMMAND = re.compile(r"##(?=\[|vso\[)", re.IGNORECASE)


def visible(text: str) -> str:
    """The text with a mark in place of each character that hides or reorders text, or cannot be encoded.

    Line ends and tabs stay. Selectors of variants vanish, blanks become spaces, and of accents on one letter two stay, of
    other marks four.
    """
    shown = _SUSPICIOUS.sub(_shown, text.replace("\r\n", "\n") if "\r" in text else text)
    return shown if shown.isascii() else _LONG_RUN.sub(_without_towers, shown)


def _without_towers(match: re.Match[str]) -> str:
    """A run of signs and marks, with no more marks than one letter has; a joiner between marks begins no other letter."""
    kept, marks = [], 0
    for character in match.group():
        category = unicodedata.category(character)
        if category in ("Mn", "Me"):
            marks += 1
        elif category != "Cf":
            marks = 0
        if marks <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def _shown(match: re.Match[str]) -> str:
    """A run of suspicious characters as it is shown; what a joiner does depends on the character before it."""
    before = match.string[max(0, match.start() - 1) : match.start()]
    shown = _HIDDEN.sub(REPLACEMENT, before + match.group().encode("utf-8", "replace").decode("utf-8"))
    shown = _BLANK.sub(" ", _SELECTED.sub("", shown))
    return _STACKED.sub("", _LOOSE_JOINERS.sub(REPLACEMENT, shown))[len(before) :]


def one_line(text: str) -> str:
    """Visible text on one line, with single spaces."""
    return " ".join(visible(text).split())


def without_commands(text: str) -> str:
    """Text in which a workflow's runner finds no command.

    Runners obey `::command::` at the start of a line, whatever blanks lead it, and `##[command]` and `##vso[command]`
    anywhere in one. Both forms are broken with a visible space.
    """
    return _COMMAND_LINE.sub(r"\1: ", _COMMAND.sub("## ", text))


def printable_line(text: str) -> str:
    """A line for a terminal or a log: one line whatever the text holds, without control characters and commands."""
    return without_commands(visible(" ".join(text.splitlines())))


def name_fault(text: str) -> str | None:
    """Why a new name is refused; None for a good one. A name is what a reader tells entries and people apart by."""
    if fault := hidden_fault(text):
        return fault
    if not any(unicodedata.category(character)[0] in "LN" for character in text):
        return "has neither a letter nor a digit; write a name"
    return None


def hidden_fault(text: str) -> str | None:
    """Why one line of a new document is refused because of what a reader cannot see; None if all is visible."""
    if match := _HIDDEN_IN_NAMES.search(text):
        return f"holds the invisible character U+{ord(match.group()):04X}; remove it"
    if odd := next((sign for sign in text if unicodedata.category(sign) in ("Zs", "Co", "Cs") and sign != " "), None):
        kind = "blank" if unicodedata.category(odd) == "Zs" else "private character"
        return f"holds the {kind} U+{ord(odd):04X}; write {'a plain space' if kind == 'blank' else 'a common one'}"
    marks = groupby(text, key=lambda character: unicodedata.category(character) in ("Mn", "Me"))
    if any(is_mark and len(list(run)) > _MARKS_IN_A_ROW for is_mark, run in marks):
        return f"has more than {_MARKS_IN_A_ROW} accents on one letter; remove some"
    if not unicodedata.is_normalized("NFC", text):
        return "has accents apart from their letters (Unicode's form is not NFC); type each letter with its accent as one"
    return None


def text_fault(text: str) -> str | None:
    """Why a new text of several lines is refused; None if `visible` shows all of it."""
    match = _HIDDEN.search(text)
    return f"holds the invisible character U+{ord(match.group()):04X}; remove it" if match else None
