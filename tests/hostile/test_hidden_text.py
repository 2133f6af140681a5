"""What a stranger typed hides nothing: new names with hidden text are refused, and older ones are shown without it."""

import csv
import html
import io
import json
import re
import subprocess
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.model.config.submission import Submission
from evaluator.model.visible_text import HIDDEN_IN_NAMES, HIDDEN_IN_TEXTS, INVISIBLE, name_fault, one_line, visible
from leaderboard.comments.comment_states import CommentContext
from leaderboard.comments.render_comment import render_comment
from leaderboard.core.standings import Standings
from leaderboard.text.serialise import csv_cell, csv_text
from scripts.commands import check
from scripts.console import CommandError
from tests.leaderboard.api.leaderboards import documents
from tests.leaderboard.comments import comment_states as comments
from tests.leaderboard.pages import samples
from tests.leaderboard.pages.everything import render
from tests.needs import node

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "pay me")
SELECTORS = "".join(chr(0xE0100 + byte) for byte in b"pay me")
BITS = "".join("\u200c" if bit == "0" else "\u200d" for bit in "0110")
FEW_SELECTORS = "\ufe00\ufe0f\ufe0e"
HIDING = (
    f"A{TAGS}B{SELECTORS}C{BITS}D{FEW_SELECTORS}E\u3164F\u115fG\u2800H\ufdd0I\u202eJ\u034fK\U0001fffeL" + "e" + "\u0301" * 30
)


def names(**fields: object) -> Submission:
    return Submission.model_validate({"name": "x", "algorithm": "y", **fields})


REFUSED = [
    pytest.param(f"Angle{TAGS}", "holds the invisible character U+E0070; remove it", marks=pytest.mark.attack(
        "name_with_tag_characters", family="people", tries="Hides words in a name with tag characters.",
        outcome="refused in one line")),
    pytest.param(f"Angle{SELECTORS}", "holds the invisible character U+E0170; remove it", marks=pytest.mark.attack(
        "name_with_variation_selectors", family="people", tries="Hides bytes in a name with selectors of variants.",
        outcome="refused in one line")),
    pytest.param("An\u200bgle", "holds the invisible character U+200B; remove it", marks=pytest.mark.attack(
        "name_with_zero_width_space", family="people", tries="Takes another's name with an invisible space in it.",
        outcome="refused in one line")),
    pytest.param("An\u200dgle", "holds the invisible character U+200D; remove it", marks=pytest.mark.attack(
        "name_with_joiner", family="people", tries="Takes another's name with an invisible joiner in it.",
        outcome="refused in one line")),
    pytest.param("\u3164", "holds the invisible character U+3164; remove it", marks=pytest.mark.attack(
        "name_of_hangul_filler", family="people", tries="Has a name that is one letter without ink.",
        outcome="refused in one line")),
    pytest.param("\u115fa", "holds the invisible character U+115F; remove it", marks=pytest.mark.attack(
        "name_with_choseong_filler", family="people", tries="Takes another's name with a letter without ink in it.",
        outcome="refused in one line")),
    pytest.param("\u2800\u2800", "holds the invisible character U+2800; remove it", marks=pytest.mark.attack(
        "name_of_braille_blanks", family="people", tries="Has a name of blanks that are no spaces.",
        outcome="refused in one line")),
    pytest.param("Angle\u00a0rule", "holds the blank U+00A0; write a plain space", marks=pytest.mark.attack(
        "name_with_no_break_space", family="people", tries="Takes another's name with another kind of space.",
        outcome="refused in one line")),
    pytest.param("Angle\u3000rule", "holds the blank U+3000; write a plain space", marks=pytest.mark.attack(
        "name_with_wide_space", family="pages", tries="Widens a row with spaces of other widths.",
        outcome="refused in one line")),
    pytest.param("A\ufdd0", "holds the invisible character U+FDD0; remove it", marks=pytest.mark.attack(
        "name_with_noncharacter", family="pages", tries="Writes a code point that is no character into documents.",
        outcome="refused in one line")),
    pytest.param("A\U0010ffff", "holds the invisible character U+10FFFF; remove it", id="last noncharacter"),
    pytest.param("A\ue000", "holds the private character U+E000; write a common one", marks=pytest.mark.attack(
        "name_with_private_character", family="people", tries="Has a name that every font draws otherwise.",
        outcome="refused in one line")),
    pytest.param("Ze\u0316\u0317\u0318\u0319", "has more than 2 accents on one letter", marks=pytest.mark.attack(
        "name_with_piled_accents", family="pages", tries="Covers the rows above and below with accents.",
        outcome="refused in one line")),
    pytest.param("Cafe\u0301", "has accents apart from their letters", marks=pytest.mark.attack(
        "name_with_split_accents", family="people", tries="Takes another's name, with the accent apart from its letter.",
        outcome="refused in one line")),
    pytest.param("\u212bngle", "has accents apart from their letters", id="singleton of NFC"),
    pytest.param("---", "has neither a letter nor a digit; write a name", marks=pytest.mark.attack(
        "name_without_letters", family="people", tries="Has a name of punctuation, which nobody can say or search.",
        outcome="refused in one line")),
    pytest.param("\N{ROCKET}", "has neither a letter nor a digit; write a name", id="only a picture"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "words"), REFUSED)
@pytest.mark.parametrize("field", ["name", "algorithm", "license", "authors"])
def test_an_unclear_name_is_refused_in_every_field(field: str, name: str, words: str) -> None:
    given = {field: (name,) if field == "authors" else name}
    if INVISIBLE.search(name):  # refused in every document
        with pytest.raises(ValueError, match="holds the invisible character"):
            names(**given)
        return
    ((place, fault),) = names(**given).wording_faults()

    assert place[0] == field
    assert fault.startswith(f"'{field}' {words}" if field != "authors" else f"'authors.0' {words}")
    assert len(fault) < 150


# In many scripts; the last needs a mark of its own for each vowel.
GOOD = ["Ünïcode 2", "世界", "مرحبا", "Ελληνικά", "한국어", "Nguyễn Ánh", "A*", "x-1", "١٢", "Rock \N{ROCKET}", "naïve (v2)"]
GOOD += ["\u0939\u093f\u0928\u094d\u0926\u0940"]


@pytest.mark.parametrize("name", GOOD)
def test_names_in_any_script_are_welcome(name: str) -> None:
    assert list(names(name=name).wording_faults()) == []


def test_check_names_the_line_and_the_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "challenge.yml").write_text("title: T\nseason: '1'\ntasks:\n  - {id: CartPole-v1, episodes: 30}\n")
    folder = tmp_path / "submissions" / "alice" / "a"
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text("class Agent:\n    def act(self, observation):\n        return 0\n")
    (folder / "submission.yml").write_text(
        f"name: Good\nalgorithm: x{SELECTORS}\nauthors: [Ann, '...']\nmeta: {{team: 'a{TAGS}'}}\n".replace(TAGS, "\\u202e")
    )
    monkeypatch.chdir(tmp_path)

    with pytest.raises(CommandError) as caught:
        check.run([folder])

    assert str(caught.value).splitlines() == [
        "submissions/alice/a/submission.yml:2: 'algorithm' holds the invisible character U+E0170; remove it",
        "submissions/alice/a/submission.yml:3: 'authors.1' has neither a letter nor a digit; write a name",
    ]


def test_text_may_have_joiners_and_one_selector_where_they_are_needed() -> None:
    assert visible("می\u200cخواهم \N{MAN}\u200d\N{WOMAN} \u2764\ufe0f") == "می\u200cخواهم \N{MAN}\u200d\N{WOMAN} \u2764"
    assert list(names(description="می\u200cخواهم \u2764\ufe0f").wording_faults()) == []


@given(st.text(st.one_of(st.sampled_from(HIDING), st.characters()), max_size=40))
def test_what_is_shown_stays_shown(text: str) -> None:
    shown = visible(text)

    assert visible(shown) == shown
    assert not re.search(HIDDEN_IN_TEXTS, shown)
    assert not re.search("[\ufe00-\ufe0f\u2800]|[\u200c\u200d]{2}|[\x00-\x7f][\u200c\u200d]|[\u0300-\u036f]{3}", shown)
    assert shown.encode() is not None
    assert one_line(text) == " ".join(shown.split())
    assert name_fault(text) is not None or visible(text) == text


# --- a board whose models were not asked, as one whose entries came before the rules


def hiding() -> Standings:
    """A board with hidden text in every field that an entrant writes, and in logs and messages."""
    plain = samples.entry("evil", "mallory")
    manifest = plain.submission.model_copy(
        update={
            "name": HIDING, "algorithm": HIDING, "authors": (HIDING,), "description": HIDING, "license": HIDING,
            "meta": {"team": HIDING},
        }
    )  # fmt: skip
    who = replace(plain, submission=manifest)
    fails = samples.failure(replace(who, agent="fails"), samples.CAR, message="m", log_tail="l")
    bad = fails.result.model_copy(update={"message": HIDING, "log_tail": HIDING})
    row = samples.row(who, samples.POLE, 1, 4.0)
    waits = replace(who, agent="waits")
    return samples.board(
        samples.task_board(samples.POLE, [row], waiting=(waits,)),
        samples.task_board(samples.CAR, [], [replace(fails, result=bad)], excluded=(samples.excluded(who, why=HIDING[:1]),)),
        overall=[samples.overall_row(who, 1, 1.0, (samples.POLE,))],
    )


def written() -> Iterator[tuple[str, str]]:
    board = hiding()
    pages = render(board, samples.CONTEXT)
    # No stranger's words: comments that are samples, and the rules of the form, which name what they refuse.
    del pages["states.md"], pages["submit/form.json"]
    yield from pages.items()
    for path, content in documents(board).items():
        if not path.endswith(".png"):
            yield path, content.decode().replace("\r\n", "\n")


# The names of characters that do not survive; joiners between letters may.
GONE = re.compile(f"(?:{HIDDEN_IN_TEXTS})|[\ufe00-\ufe0f\u2800]|[\u200c\u200d]{{2}}")


@pytest.mark.attack(
    "hidden_text_in_every_field", family="pages", outcome="shown with a mark in its place",
    tries="Hides text in every field, log and message with tags, selectors, joiners, fillers and noncharacters.",
)  # fmt: skip
def test_hidden_text_survives_in_no_page_and_no_document() -> None:
    seen = set()
    for path, content in written():
        text = html.unescape(content)
        if path.endswith(".json"):
            text = json.dumps(json.loads(content), ensure_ascii=False)
        assert not GONE.search(text), (path, ascii(GONE.search(text)))
        assert "\u0301" * 3 not in unicodedata.normalize("NFD", text), path
        if "A\ufffd" in text:
            seen.add(path.split("/")[0])
    assert {"agents", "tasks", "api"} <= seen


@pytest.mark.attack(
    "tower_of_marks", family="people", outcome="of the marks on one letter four are shown",
    tries="Covers the lines above and below with marks of Hebrew, Thai or any other script, a hundred on one letter.",
)  # fmt: skip
def test_no_marks_of_any_script_stand_on_each_other() -> None:
    marks = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Mn", "Me")]
    every = frozenset(marks)
    for mark in marks:
        for text in (mark * 100, f"{mark}\u200d" * 100, f"\u0301\u0e47{mark}\u05b0" * 100):
            shown = visible(f"\u0e01{text}")
            most = max(len([sign for sign in part if sign in every]) for part in shown.split("\ufffd"))
            assert most <= 4, ascii(shown)
    for text in ("\u05d1\u05b0\u05bc\u05e8\u05b5\u05d0\u05e9\u05b4\u0596\u05c1\u05d9\u05ea", "\u0e17\u0e35\u0e48"):
        assert visible(text) == text


@pytest.mark.attack(
    "hidden_text_in_a_comment", family="bot", outcome="shown with a mark in its place",
    tries="Hides text in names, faults and logs that the bot's comment quotes.",
)  # fmt: skip
def test_hidden_text_survives_in_no_comment() -> None:
    state = comments.previewed(comments.agent(faults=(HIDING[:1000],), name=HIDING), log=HIDING, skipped=(HIDING[:1000],))
    body = html.unescape(render_comment(state, CommentContext(run_id=1, repository="https://github.com/o/r")))

    assert "A\ufffd" in body
    assert not GONE.search(body)


FORMULAS = [
    "\ufe0f=1+1", "\u2800=1+1", "＝1+1", "＋1", "－1", "＠SUM(A1)", "\U000e0101@x",
    " =1+1", "\xa0=1+1", "\u3000@x", "\n=1+1", " \t-1", "\n\n+1",
]  # fmt: skip


@pytest.mark.attack(
    "formula_behind_a_selector", family="pages", outcome="an apostrophe makes it text",
    tries="Hides the first sign of a spreadsheet's formula behind a selector or a blank, or writes it in full width.",
)  # fmt: skip
@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_text_whatever_stands_before_it(text: str) -> None:
    cell = str(csv_cell(text))

    assert cell.startswith(("'", "\ufffd"))
    assert not GONE.search(cell)


INNER_FORMULAS = ["a;=1+1", "a;;=cmd|' /C calc'!A0", "a; -1", "a\t@x", "a\n=1+1", "a\r\n+1", "a;\n＝1", "=1;+1"]


QUOTED_FORMULAS = ('a;"=1+1;b', '";"=1+1;"', 'a; b;" -1;', 'a\t"@x\tb', 'a;""+1;b', 'a;"\u00a0" =1;b', 'a\n"=1+1')


@pytest.mark.attack(
    "formula_behind_a_semicolon", family="pages", outcome="an apostrophe makes it text",
    tries="Puts a formula behind a semicolon, tab or line end, where spreadsheets of many countries begin the next cell.",
)  # fmt: skip
@pytest.mark.parametrize("text", INNER_FORMULAS)
def test_a_formula_is_text_where_cells_are_parted_at_semicolons(text: str) -> None:
    line = csv_text([["alice", text, 1.5]]).decode()

    assert not [part for part in re.split("[;\t\r\n]", line) if part.lstrip().startswith(tuple("=+-@＝"))], line


@pytest.mark.attack(
    "formula_behind_a_quotation_mark", family="pages", outcome="an apostrophe makes it text",
    tries="Puts a quotation mark between a semicolon and a formula, which a spreadsheet that parts cells there takes away.",
)  # fmt: skip
@pytest.mark.parametrize("text", QUOTED_FORMULAS)
def test_a_formula_in_quotes_is_text_where_cells_are_parted_at_semicolons(text: str) -> None:
    line = csv_text([["alice", text, 1.5]]).decode()

    for sign in ";\t":
        cells = [cell for row in csv.reader(io.StringIO(line, newline=""), delimiter=sign) for cell in row]
        assert not [cell for cell in cells if cell.lstrip().startswith(tuple("=+-@＝"))], line


def test_a_page_saves_what_it_shows_without_formulas() -> None:
    script = Path("site/assets/js/table-rows.js").resolve().as_uri()
    saving = f"import {{csv}} from '{script}'; process.stdout.write(csv(JSON.parse(process.argv[1]), []));"
    shown = [visible(text) for text in (*FORMULAS, *INNER_FORMULAS, *QUOTED_FORMULAS)] + ["a=b", "\t"]
    done = subprocess.run(
        [node(), "--input-type=module", "-e", saving, json.dumps(shown)], capture_output=True, text=True, check=True
    )

    assert next(csv.reader(io.StringIO(done.stdout, newline=""))) == [csv_cell(text) for text in shown]


def test_the_rules_of_the_submit_form_are_these() -> None:
    from leaderboard.pages.submit_form import form_rules

    patterns = json.loads(form_rules(samples.crowded(), samples.CONTEXT))["patterns"]

    assert (patterns["invisible"], patterns["invisible_in_names"]) == (HIDDEN_IN_TEXTS, HIDDEN_IN_NAMES)


@pytest.mark.attack(
    "name_from_right_to_left", family="pages", outcome="the text around it stays as it is",
    tries="Has a name in a script from right to left, which reorders the numbers beside it.",
)  # fmt: skip
def test_a_name_from_right_to_left_stands_for_itself() -> None:
    name = "مرحبا"
    plain = samples.entry("a", "alice", authors=(name,), description=name, license=name, name=name, algorithm=name)
    fails = samples.failure(replace(plain, agent="f"), samples.CAR, message=name, log_tail=name)
    board = samples.board(
        samples.task_board(samples.POLE, [samples.row(plain, samples.POLE, 1, 4.0)], waiting=(replace(plain, agent="w"),)),
        samples.task_board(samples.CAR, [], [fails], excluded=(samples.excluded(plain, why=name),)),
        overall=[samples.overall_row(plain, 1, 1.0, (samples.POLE,))],
    )
    alone = re.compile(r'<bdi[^>]*>$|="[^"]*$|<(?:td|p|dd|code|span|th|h1|title|li|text)[^>]*>$')
    places = [
        (path, page[: match.start()].rpartition("\n")[2])
        for path, page in render(board, samples.CONTEXT).items()
        for match in re.finditer(name, page)
    ]

    assert len(places) > 10
    assert [(path, before[-60:]) for path, before in places if not alone.search(before)] == []
