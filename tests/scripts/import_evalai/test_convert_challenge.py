"""An EvalAI configuration becomes a challenge, and of each key it is said what became of it."""

import copy
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.loading.yaml_loader import dump_yaml, read_challenge
from evaluator.model.config.metric import Direction
from scripts.commands import import_evalai as command
from scripts.import_evalai.config_reader import ImportFaultError, KeyFate
from scripts.import_evalai.convert_challenge import convert_challenge, plain_text, to_markdown
from tests.scripts import checkouts

CONFIG: dict[str, Any] = {
    "title": "Pole Balancing",
    "short_description": "Keep it up",
    "description": "templates/description.html",
    "terms_and_conditions": "templates/terms.html",
    "image": "logo.png",
    "is_docker_based": True,
    "start_date": "2026-01-01 00:00:00",
    "end_date": "2026-06-30 23:59:59",
    "max_team_members": 3,
    "anonymous_leaderboard": True,
    "submission_time_limit": 600,
    "job_memory": "2Gi",
    "job_cpu_cores": "1500m",
    "max_docker_image_size": 1 << 30,
    "leaderboard": [
        {
            "id": 1,
            "schema": {
                "labels": ["Steps", "Score"],
                "default_order_by": "Score",
                "metadata": {
                    "Score": {"sort_ascending": False, "description": "the mean"},
                    "Steps": {"sort_ascending": True},
                },
            },
        }
    ],
    "challenge_phases": [
        {
            "id": 1, "name": "Dev", "codename": "dev", "is_public": True, "leaderboard_public": True,
            "start_date": "2026-01-01 00:00:00", "end_date": "2026-03-01 00:00:00",
            "max_submissions_per_day": 2, "max_submissions_per_month": 20, "max_submissions": 100000,
            "default_submission_meta_attributes": [{"name": "project_url", "is_visible": True}],
            "submission_meta_attributes": [{"name": "Lab", "type": "text", "required": True, "description": "Which lab?"}],
        },
        {"id": 2, "name": "Test", "codename": "test", "is_public": True, "start_date": "2026-03-01 00:00:00"},
    ],
    "dataset_splits": [{"id": 1, "name": "All", "codename": "all"}],
    "challenge_phase_splits": [
        {"challenge_phase_id": 1, "leaderboard_id": 1, "dataset_split_id": 1, "visibility": 3,
         "leaderboard_decimal_precision": 3, "is_leaderboard_order_descending": True},
        {"challenge_phase_id": 2, "leaderboard_id": 1, "dataset_split_id": 1, "visibility": 1},
    ],
}  # fmt: skip


def changed(**values: Any) -> dict[str, Any]:
    return {**copy.deepcopy(CONFIG), **values}


def warnings(config: Any) -> list[str]:
    imported = convert_challenge(config, lambda name: b"<p>x</p>", "CartPole-v1")
    return [f"{note.place}: {note.words}" for note in imported.report.with_fate(KeyFate.WARNING)]


def with_board(**schema: Any) -> dict[str, Any]:
    return changed(leaderboard=[{"id": 1, "schema": {**CONFIG["leaderboard"][0]["schema"], **schema}}])


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return completed(*checkouts.run(folder, "import-evalai", *words))


def completed(code: int, out: str, err: str) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess((), code, out, err)


@pytest.fixture
def original(tmp_path: Path) -> Path:
    folder = tmp_path / "original"
    (folder / "templates").mkdir(parents=True)
    (folder / "challenge_config.yaml").write_text(dump_yaml(CONFIG))
    (folder / "templates/description.html").write_text("<h1>Poles</h1><script>steal()</script><p>Keep <b>it</b> up.</p>")
    (folder / "templates/terms.html").write_text("<p>Be fair.</p>")
    (folder / "logo.png").write_bytes(b"\x89PNG")
    return folder


def test_a_configuration_becomes_a_challenge_that_loads(original: Path, tmp_path: Path) -> None:
    words = ("import-evalai", str(original / "challenge_config.yaml"), "--out", str(tmp_path / "board"))
    done = completed(*checkouts.started(tmp_path, *words, "--env", "CartPole-v1"))

    assert done.returncode == 0, done.stderr
    challenge = read_challenge(tmp_path / "board/challenge.yml")
    dev, test = challenge.phases
    assert [task.id for task in challenge.tasks] == ["dev-all", "test-all"]
    assert challenge.tasks[0].env_id == "CartPole-v1"
    assert (challenge.limits.memory_mib, challenge.limits.cpus, challenge.limits.cpu_seconds) == (2048, 1.5, 600)
    assert challenge.submissions.image_mib == 1024
    assert (dev.start, dev.end, dev.public_from) == ("2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z", None)
    assert dev.quota is not None
    assert (dev.quota.per_day, dev.quota.per_month, dev.quota.total, dev.quota.of) == (2, 20, None, "team")
    assert (test.end, test.public_from) == ("2026-06-30T23:59:59Z", "2026-06-30T23:59:59Z")
    score, steps = challenge.tasks[0].metrics
    assert (score.name, score.kind, score.direction, score.decimals) == ("Score", "mean_return", Direction.HIGHER, 3)
    assert (steps.name, steps.kind, steps.direction) == ("Steps", "mean_length", Direction.LOWER)
    assert challenge.people.team_size == 3
    assert challenge.people.anonymous_until == "2026-06-30T23:59:59Z"
    assert [(field.name, field.required) for field in challenge.people.fields] == [("Lab", True)]


def test_templates_become_pages_and_nothing_in_them_runs(original: Path, tmp_path: Path) -> None:
    run(tmp_path, str(original / "challenge_config.yaml"), "--out", "board", "--env", "CartPole-v1")

    assert (tmp_path / "board/site/pages/about.md").read_text() == "# Poles\n\nKeep **it** up.\n"
    terms = read_challenge(tmp_path / "board/challenge.yml").people.terms
    assert (tmp_path / f"board/{terms}").read_text() == "# Terms\n\nBe fair.\n"
    assert (tmp_path / "board/site/assets/logo.png").read_bytes() == b"\x89PNG"


def test_every_key_of_the_original_has_a_fate(original: Path, tmp_path: Path) -> None:
    path = str(original / "challenge_config.yaml")
    done = run(tmp_path, path, "--out", "board", "--env", "CartPole-v1", "--json")

    notes = {note["place"] for note in json.loads(done.stdout)["notes"] if note["fate"] != "warning"}
    places = set(CONFIG)
    for name in ("challenge_phases", "challenge_phase_splits", "dataset_splits"):
        places |= {f"{name}[{i}].{key}" for i, section in enumerate(CONFIG[name]) for key in section}
    places |= {f"leaderboard[0].schema.{key}" for key in CONFIG["leaderboard"][0]["schema"]}
    assert places - notes == set()


def test_an_unknown_key_is_told_and_a_key_that_is_not_there_is_not() -> None:
    imported = convert_challenge(changed(surprise=1), lambda name: None, "CartPole-v1")

    notes = {note.place: note for note in imported.report.notes}
    assert notes["surprise"].fate is KeyFate.DROPPED
    assert "remote_evaluation" not in notes


def test_nothing_is_overwritten_without_being_asked(original: Path, tmp_path: Path) -> None:
    (tmp_path / "challenge.yml").write_text("mine")
    path = str(original / "challenge_config.yaml")

    done = run(tmp_path, path)

    assert done.returncode == 2
    assert "--force" in done.stderr
    assert (tmp_path / "challenge.yml").read_text() == "mine"
    assert run(tmp_path, path, "--force").returncode == 0


@pytest.mark.attack(
    "links_where_an_import_writes", family="supply", outcome="replaced, what they lead to stays",
    tries="Gives away an EvalAI challenge whose folder has links in the places that the import writes to.",
)  # fmt: skip
def test_nothing_is_written_through_a_link(original: Path) -> None:
    (original / "keys").write_text("mine")
    (original / "site" / "pages").mkdir(parents=True)
    for name, target in (("challenge.yml", "profile"), ("site/pages/about.md", "../../keys")):
        (original / name).symlink_to(target)

    assert run(original, "challenge_config.yaml").returncode == 0
    assert (original / "keys").read_text() == "mine"
    assert not (original / "profile").exists()
    assert (original / "challenge.yml").read_text().startswith("# yaml-language-server")


@pytest.mark.attack(
    "linked_folder_where_an_import_writes", family="supply", outcome="one line, and nothing is written",
    tries="A cloned folder whose site/pages is a link to a folder of the user's, whose pages an import would replace.",
)  # fmt: skip
def test_nothing_is_written_into_a_linked_folder(original: Path, tmp_path: Path) -> None:
    (mine := tmp_path / "mine").mkdir()
    (board := tmp_path / "board" / "site").mkdir(parents=True)
    (board / "pages").symlink_to(mine)

    done = run(tmp_path, str(original / "challenge_config.yaml"), "--out", "board", "--env", "CartPole-v1")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "board/site/pages: leads out of board; remove that link, or pass --out another folder\n"
    assert not list(mine.iterdir())
    assert not (tmp_path / "board/challenge.yml").exists()


def test_without_an_environment_one_is_asked_for() -> None:
    imported = convert_challenge(CONFIG, lambda name: None)

    assert any("names no environment" in note.words for note in imported.report.with_fate(KeyFate.WARNING))
    assert imported.challenge["tasks"][0]["env"] == "name-the-environment"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (with_board(metadata={"Score": {"sort_ascending": True}}), "disagree on 'Score'"),
        (with_board(metadata={"Score": {"description": "no direction"}}), "EvalAI sorted 'Score' ascending"),
        (with_board(default_order_by="Speed"), "'Speed' is none of the labels"),
        (with_board(labels=["Score", "mAP"]), "'mAP' is left out"),
        (with_board(labels=["R2 score"], default_order_by="R2 score"), "'R2 score' ranks and nothing says how"),
        (with_board(labels=["AVeriTeC Score"], default_order_by="AVeriTeC Score"), "'AVeriTeC Score' ranks and"),
        (with_board(labels=["Score", "Success weighted by Path Length"]), "'Success weighted by Path Length' is left out"),
        (with_board(labels=["mAP"], default_order_by="mAP"), "taken as mean_return"),
        (changed(end_date="2025-01-01 00:00:00", challenge_phases=[
            {**phase, "start_date": "2026-01-01 00:00:00", "end_date": "2026-05-01 00:00:00"}
            for phase in CONFIG["challenge_phases"]]), "ends (2025-01-01T00:00:00Z) before it starts"),
        (changed(challenge_phases=[
            {**phase, "start_date": "2026-01-01 00:00:00", "end_date": "2026-05-01 00:00:00"}
            for phase in CONFIG["challenge_phases"]]), "'dev' and 'test' overlap in time"),
        (changed(challenge_phases=[{**phase, "max_submissions_per_day": 9, "max_submissions": 3}
                                   for phase in CONFIG["challenge_phases"]]), "per_day (9) is more than total (3) allows"),
        (changed(leaderboard=[*CONFIG["leaderboard"], {"id": 2, "schema": {"labels": ["Other"]}}]),
         "no phase split shows this leaderboard"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_warned_of(config: Any, words: str) -> None:
    assert any(words in line for line in warnings(config)), warnings(config)


def test_a_direction_without_the_flag_is_the_metadatas() -> None:
    config = with_board(metadata={"Score": {"sort_ascending": True}})
    for split in config["challenge_phase_splits"]:
        split.pop("is_leaderboard_order_descending", None)

    tasks = convert_challenge(config, lambda name: None, "CartPole-v1").challenge["tasks"]
    assert {task["metrics"][0]["direction"] for task in tasks} == {"lower"}
    assert not [line for line in warnings(config) if "sort_ascending" in line or "disagree" in line]


def test_a_split_on_two_leaderboards_is_a_task_of_each() -> None:
    second = {"id": 2, "schema": {"labels": ["Steps"], "default_order_by": "Steps"}}
    splits = [{"challenge_phase_id": 1, "leaderboard_id": board, "dataset_split_id": 1, "visibility": 3} for board in (1, 2)]
    config = changed(leaderboard=[*CONFIG["leaderboard"], second], challenge_phase_splits=splits)

    challenge = convert_challenge(config, lambda name: None, "CartPole-v1").challenge
    assert [(task["id"], task["metrics"][0]["name"]) for task in challenge["tasks"]] == [
        ("dev-all-board1", "Score"), ("dev-all-board2", "Steps"),
    ]  # fmt: skip
    assert challenge["phases"][0]["tasks"] == ["dev-all-board1", "dev-all-board2"]
    with pytest.raises(ImportFaultError, match="two of them are 'dev-all-board1'"):
        convert_challenge(changed(challenge_phase_splits=[splits[0], splits[0]]), lambda name: None, "CartPole-v1")


def test_dates_may_have_single_digits() -> None:
    phases = [{**phase, "start_date": "2025-8-1 9:05:00", "end_date": "2025-08-3"} for phase in CONFIG["challenge_phases"]]

    [phase, _] = convert_challenge(changed(challenge_phases=phases), lambda name: None, "CartPole-v1").challenge["phases"]
    assert (phase["start"], phase["end"]) == ("2025-08-01T09:05:00Z", "2025-08-03T00:00:00Z")


def test_a_phase_with_one_hidden_split_is_hidden() -> None:
    splits = [{**CONFIG["challenge_phase_splits"][0], "dataset_split_id": n, "visibility": v} for n, v in ((1, 3), (2, 1))]
    datasets = [*CONFIG["dataset_splits"], {"id": 2, "name": "Rest", "codename": "rest"}]
    config = changed(challenge_phase_splits=splits, dataset_splits=datasets)

    [phase] = convert_challenge(config, lambda name: None, "CartPole-v1").challenge["phases"]
    assert phase["public_from"] == phase["end"]
    assert any("here all of it is hidden until its end" in line for line in warnings(config))


def test_what_does_not_contradict_itself_is_not_warned_of() -> None:
    assert warnings(CONFIG) == []


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ([1], "this is no EvalAI configuration"),
        ({"initialize": {"gridSize": 0.25}}, "this is no EvalAI configuration"),
        (changed(challenge_phase_splits=[]), "challenge_phase_splits: is missing or empty"),
        (changed(challenge_phase_splits=[{"challenge_phase_id": 9}]), "challenge_phase_id: there is none"),
        (changed(challenge_phases="dev"), "challenge_phases: must be a list"),
        (changed(challenge_phases=[{"id": 1, "name": "Dev", "start_date": "soon"}, {"id": 2}]), "is not a date"),
        (changed(start_date="2026-06-01 00:00:00", challenge_phases=[{**p, "start_date": "2027-01-01 00:00:00",
         "end_date": "2026-01-01 00:00:00"} for p in CONFIG["challenge_phases"]]), "before it starts"),
        (changed(max_team_members="many"), "max_team_members: 'many' is not a whole number"),
        (changed(max_team_members="--5"), "max_team_members: '--5' is not a whole number"),
        (changed(max_team_members="9" * 5000), "is not a whole number"),
        (changed(start_date="0001-01-01 00:00:00+14:00"), "is not a date"),
        (changed(description="<div>" * 3000), "description: its tags are nested too deeply"),
        (changed(job_memory="lots"), "job_memory: 'lots' is not like 8Gi"),
        (with_board(labels=[]), "labels: is missing or empty"),
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_one_clear_line(config: Any, words: str) -> None:
    with pytest.raises(ImportFaultError) as caught:
        convert_challenge(config, lambda name: None, "CartPole-v1")

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("title: x\nleaderboard: [", "challenge_config.yaml:2: "),
        ("- a\n- b\n", "challenge_config.yaml:1: this is no EvalAI configuration"),
        ("title: x\nleaderboard:\n  - id: 1\nchallenge_phase_splits: 3\n", "challenge_config.yaml:4: "),
    ],
)
def test_broken_files_are_one_line_with_the_place(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "challenge_config.yaml").write_text(text)

    done = run(tmp_path, "challenge_config.yaml")

    assert done.returncode == 2
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


def test_no_file_outside_the_configurations_folder_is_read(original: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.html").write_text("secret")
    config = {**CONFIG, "description": "../secret.html", "image": "../../secret.png"}
    (original / "challenge_config.yaml").write_text(dump_yaml(config))

    run(tmp_path, str(original / "challenge_config.yaml"), "--out", "board", "--env", "CartPole-v1")

    assert not (tmp_path / "board/site/pages/about.md").exists()


@pytest.mark.parametrize(
    "html",
    [
        b"<script>x()</script>", b"<img src=x onerror=x()>", b"<a href='javascript:x()'>l</a>", b"<iframe src=x></iframe>",
        b"&lt;script&gt;x()&lt;/script&gt;", b"<svg onload=x()>", b"<style>*{}</style>", b"<p onclick=x()>p</p>",
    ],
)  # fmt: skip
def test_no_page_holds_anything_that_runs(html: bytes) -> None:
    text = to_markdown(html)

    assert "<" not in text.replace("&lt;", "")
    assert "javascript:" not in text
    assert "onerror" not in text


def test_a_description_is_words_and_not_their_markup() -> None:
    page = to_markdown(
        b"<h2>A_b</h2><p>Go <a href='https://x.org'>there</a> <b>now</b>.</p><ul><li>one</li><li>2-3</li></ul>"
    )

    assert plain_text(page, 100) == "A_b Go there now. one 2-3"
    assert plain_text(page, 12) == "A_b Go…"


@pytest.mark.attack(
    "evalai_page_of_open_brackets", family="supply", outcome="its words are read at once",
    tries="Describes an EvalAI challenge by a million brackets that nothing closes, which took minutes to be read.",
)  # fmt: skip
@pytest.mark.parametrize("brackets", ["[", "[a](", "![a](x"])
def test_a_page_of_open_brackets_takes_no_time(brackets: str) -> None:
    begun = time.monotonic()

    assert plain_text(brackets * (1_000_000 // len(brackets)), 300).startswith(brackets)

    assert time.monotonic() - begun < 30


@pytest.mark.attack(
    "evalai_values_that_no_number_holds", family="supply", outcome="one line",
    tries="Brings an EvalAI configuration with numbers, dates and pages beyond what Python converts.",
)  # fmt: skip
@pytest.mark.parametrize(
    "hostile",
    [
        {"submission_time_limit": "--5"},
        {"submission_time_limit": "9" * 5000},
        {"start_date": "0001-01-01 00:00:00+14:00"},
        {"description": "<div>" * 3000},
    ],
)
def test_what_cannot_be_converted_is_one_line(tmp_path: Path, hostile: dict[str, str]) -> None:
    (tmp_path / "challenge_config.yaml").write_text(dump_yaml(CONFIG | hostile))

    done = run(tmp_path, "challenge_config.yaml")

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("value", ["9" * 400 + "Gi", "9" * 5000 + "Mi"])
def test_memory_beyond_all_bounds_is_the_most_there_is(value: str) -> None:
    imported = convert_challenge(changed(job_memory=value), lambda name: None, "CartPole-v1")

    assert imported.challenge["limits"]["memory_mib"] == 65536


@pytest.mark.parametrize("name", ["a\0b.html", "a" * 5000 + ".html"])
def test_a_page_that_no_file_can_be_called_is_missing(tmp_path: Path, name: str) -> None:
    (tmp_path / "challenge_config.yaml").write_text(dump_yaml(changed(description=name)))

    done = run(tmp_path, "challenge_config.yaml", "--env", "CartPole-v1")

    assert done.returncode == 0, done.stderr
    assert "is missing or too large" in done.stderr


def test_a_defect_of_ours_is_not_told_as_the_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "challenge_config.yaml").write_text(dump_yaml(CONFIG))

    def fail(*arguments: object) -> None:
        raise ValueError("ours")

    monkeypatch.setattr(command, "convert_challenge", fail)

    with pytest.raises(ValueError, match="ours"):
        command._convert(tmp_path / "challenge_config.yaml", None)


@pytest.mark.attack(
    "evalai_page_of_open_tags", family="supply", outcome="its words are read at once",
    tries="Has a page of an EvalAI challenge of a megabyte of tags that nothing closes, which took hours to be read.",
)  # fmt: skip
@pytest.mark.parametrize("tag", ["<a ", "<a x='", "<!--", "<!-- x --><!--", "</a ", "<?x ", "<![", "<!x ", "<"])
def test_a_page_of_open_tags_takes_no_time(tag: str) -> None:
    begun = time.monotonic()

    text = to_markdown(b"<p>Words</p>" + tag.encode() * (100_000 // len(tag)))

    assert text.startswith("Words")
    assert time.monotonic() - begun < 5
