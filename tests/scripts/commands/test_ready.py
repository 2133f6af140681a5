"""`ready`, `field` and the manners of the command."""

import importlib
import inspect
import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer

from leaderboard.evaluation_health import health
from leaderboard.pages.render_pages import render_pages
from leaderboard.site_context import SiteContext
from scripts import cli
from scripts.command_list import COMMANDS
from scripts.repository.checkout import open_checkout
from scripts.standings.recorded_standings import recorded_standings
from tests.leaderboard.pages.test_render_pages import words as words_of
from tests.scripts.checkouts import CRASHING, GAMES, ILLEGAL, LAST_LEGAL, LEGAL, put, run


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def board(tmp_path: Path) -> Path:
    (tmp_path / "challenge.yml").write_text(GAMES)
    (tmp_path / ".gitignore").write_text("results/\ntraces/\n")
    put(tmp_path / "submissions/bob/old", LEGAL, "[CartPole-v1]")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Board")
    put(tmp_path / "submissions/alice/new", LEGAL + "# mine\n", "[CartPole-v1]")
    return tmp_path


def checks(board: Path, folder: str = "submissions/alice/new") -> dict[str, str]:
    return {each["what"]: each["fault"] for each in json.loads(run(board, "ready", folder, "--json")[1])["checks"]}


def test_an_evaluated_agent_is_ready_and_the_commands_commit_only_its_folder(board: Path) -> None:
    assert run(board, "evaluate", "submissions/alice/new", "--sandbox", "process")[0] == 0

    code, out, err = run(board, "ready", "submissions/alice/new")

    assert code == 0
    assert "would take place 1 of 1" in out
    commands = [line for line in err.splitlines() if line.startswith("git ")]
    assert commands == [
        "git switch --no-track -c new main", "git add submissions/alice/new", "git commit -m 'Enter new'",
    ]  # fmt: skip
    assert "This clone has no remote to push to, and challenge.yml names no repository" in err
    for command in commands:
        git(board, *shlex.split(command)[1:])
    assert git(board, "diff", "--name-only", "main").split() == [
        "submissions/alice/new/agent.py", "submissions/alice/new/submission.yml",
    ]  # fmt: skip
    assert run(board, "ready", "submissions/alice/new")[0] == 0, "as well after the commit"


PHASES = """\
phases:
  - {id: early, name: Early, end: "2020-01-01T00:00:00Z", tasks: [CartPole-v1]}
"""
LATE = "too late: phase 'early' ended 2020-01-01 00:00 UTC"
ENDED = "too late: the submissions of season test have ended, so this version takes no part in it"


@pytest.mark.parametrize(("rules", "reason"), [(PHASES, LATE), ("final: test\n", ENDED)])
def test_a_version_that_comes_too_late_has_no_place_and_is_not_ready(board: Path, rules: str, reason: str) -> None:
    (board / "challenge.yml").write_text(GAMES + rules)
    git(board, "commit", "-qam", "End")
    code, out, err = run(board, "evaluate", "submissions/alice/new", "--sandbox", "process")

    assert code == 0
    assert "would take place" not in out
    assert reason in err
    assert "Next:" not in err
    for words in (["check"], ["field"]):
        assert reason in run(board, *words, "submissions/alice/new")[2], words
    code, out, err = run(board, "ready", "submissions/alice/new")
    assert (code, "Ready" in err) == (1, False)
    assert f"no  CartPole-v1: {reason}" in err
    assert reason not in run(board, "check", "submissions/bob/old")[2] or rules == PHASES, "it stands at the end"


def test_the_board_says_of_a_late_version_that_nothing_will_come(board: Path) -> None:
    (board / "challenge.yml").write_text(GAMES + PHASES)
    git(board, "add", "-A")
    git(board, "commit", "-qm", "End")

    standings = recorded_standings(open_checkout(board), official=True)

    assert [entry.waits_for("CartPole-v1").split(";")[0] for entry in standings.tasks[0].waiting] == [LATE, LATE]
    assert health(standings).waiting == {}
    page = words_of(render_pages(standings, SiteContext(generated_at="2026-01-02 03:04 UTC"))["tasks/CartPole-v1.md"])
    assert "Not ranked: 2 not evaluated" in page
    assert f"Entered; the current version is not evaluated: New by alice: {LATE}" in page
    assert "waiting" not in page.casefold()


def test_a_version_that_is_late_for_one_of_its_tasks_is_ready_for_the_others(board: Path) -> None:
    (board / "challenge.yml").write_text(GAMES + PHASES)
    git(board, "commit", "-qam", "End")
    manifest = board / "submissions/alice/new/submission.yml"
    manifest.write_text(manifest.read_text().replace("[CartPole-v1]", "[CartPole-v1, tictactoe]"))
    assert run(board, "evaluate", "submissions/alice/new", "--sandbox", "process")[0] == 0

    code, out, err = run(board, "ready", "submissions/alice/new")

    assert code == 0, err
    assert f"ok  not on CartPole-v1: {LATE}" in err
    assert "would take place" not in out


BOARD = "https://github.com/host/board"


def of_host(board: Path, origin: str) -> None:
    """Make a board that has a repository on GitHub, in a clone of it or of a fork; alice's agent is evaluated."""
    (board / "challenge.yml").write_text(f"{GAMES}repository: {BOARD}\n")
    git(board, "commit", "-qam", "Name the repository")
    git(board, "remote", "add", "origin", origin)
    git(board, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert run(board, "evaluate", "submissions/alice/new", "--sandbox", "process")[0] == 0


def steps(board: Path, folder: str = "submissions/alice/new") -> tuple[list[str], str | None, str]:
    code, out, err = run(board, "ready", folder, "--json")
    document = json.loads(out)
    assert code == 0, (document, err)
    return document["commands"], document["pull_request"], document["note"]


def carry_out(board: Path, commands: list[str]) -> None:
    """Run what is local of the commands, and do as if the push had succeeded."""
    for words in map(shlex.split, commands):
        if words[1] == "push":
            git(board, "update-ref", f"refs/remotes/{words[3]}/{words[4]}", "HEAD")
        elif words[0] == "git":
            git(board, *words[1:])


@pytest.mark.parametrize("address", ["https://github.com/Alice/board.git", "git@github.com:alice/board.git"])
def test_in_a_clone_of_the_fork_each_step_leaves_the_next_ones(board: Path, address: str) -> None:
    of_host(board, address)
    owner = address.removesuffix("/board.git").rpartition("/")[2].rpartition(":")[2]
    page = f"{BOARD}/compare/main...{owner}:new?expand=1"
    every = [
        "git switch --no-track -c new origin/main", "git add submissions/alice/new", "git commit -m 'Enter new'",
        "git push -u origin new",
    ]  # fmt: skip

    assert steps(board) == (every, page, "")
    carry_out(board, every[:1])
    assert steps(board) == (every[1:], page, "")
    carry_out(board, every[1:3])
    assert steps(board) == (every[3:], page, "")
    carry_out(board, every[3:])
    assert steps(board) == ([], page, "")
    said = run(board, "ready", "submissions/alice/new")[2]
    assert f"Ready.\nEverything is pushed; open the pull request: {page}\n" in said
    git(board, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert steps(board) == ([], None, "origin/main has this version: there is nothing to submit.")


def test_in_a_clone_of_the_board_the_fork_comes_before_the_push(board: Path) -> None:
    of_host(board, f"{BOARD}.git")

    commands, page, note = steps(board)

    assert commands[3:] == [
        f"gh repo fork {BOARD} --clone=false", "git remote add fork https://github.com/alice/board.git",
        "git push -u fork new",
    ]  # fmt: skip
    assert page == f"{BOARD}/compare/main...alice:new?expand=1"
    assert note == f"Without gh, press Fork at {BOARD} instead."
    carry_out(board, commands)
    assert steps(board) == ([], page, "")


def test_who_hosts_the_board_pushes_to_it(board: Path) -> None:
    of_host(board, f"{BOARD}.git")
    folder = put(board / "submissions/Host/own", LEGAL + "# the host's\n", "[CartPole-v1]").relative_to(board)
    git(board, "stash", "-uq", "--", "submissions/alice")
    run(board, "evaluate", str(folder), "--sandbox", "process")

    commands, page, _ = steps(board, str(folder))

    assert commands[3:] == ["git push -u origin own"]
    assert page == f"{BOARD}/compare/main...host:own?expand=1"


def test_a_second_agent_does_not_begin_on_the_branch_of_the_first(board: Path) -> None:
    of_host(board, "https://github.com/alice/board")
    carry_out(board, steps(board)[0])
    second = str(put(board / "submissions/alice/main", LEGAL + "# second\n", "[CartPole-v1]").relative_to(board))
    run(board, "evaluate", second, "--sandbox", "process")

    commands, _, _ = steps(board, second)

    assert commands[0] == "git switch --no-track -c main-2 origin/main", "there is a branch main"
    carry_out(board, commands[:3])
    assert {path.split("/")[2] for path in git(board, "diff", "--name-only", "origin/main").split()} == {"main"}


def test_two_agents_on_one_branch_are_said_to_enter_together(board: Path) -> None:
    of_host(board, "https://github.com/alice/board")
    second = str(put(board / "submissions/alice/second", LEGAL + "# second\n", "[CartPole-v1]").relative_to(board))
    run(board, "evaluate", second, "--sandbox", "process")
    git(board, "add", ".")
    git(board, "commit", "-qm", "Both, on main")

    commands, _, note = steps(board)

    assert commands == ["git switch -c new", "git push -u origin new"]
    assert note == "The pull request would change submissions/alice/second as well, which this branch has, too."


def test_a_changed_agent_is_updated_on_a_branch_whose_name_is_free(board: Path) -> None:
    of_host(board, "https://github.com/alice/board")
    carry_out(board, steps(board)[0])
    git(board, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(board, "switch", "-q", "--detach", "HEAD")
    (board / "submissions/alice/new/agent.py").write_text(LEGAL + "# better\n")
    run(board, "evaluate", "submissions/alice/new", "--sandbox", "process")

    commands, _, _ = steps(board)

    assert commands[0] == "git switch --no-track -c new-2 origin/main"
    assert commands[2] == "git commit -m 'Update new'"
    carry_out(board, commands)
    assert steps(board)[0] == []


def test_of_many_changed_paths_the_first_are_named_and_the_others_counted(board: Path) -> None:
    for number in range(30):
        (board / f"note-{number:02}.txt").write_text("")

    fault = checks(board)["only your own folder is changed"]

    assert [part.split()[0] for part in fault.split("; ")] == [*(f"note-{number:02}.txt" for number in range(5)), "25"]
    assert fault.endswith("; 25 more lie there, too")


def test_a_file_that_git_ignores_would_not_come_along(board: Path) -> None:
    folder = board / "submissions/alice/new"
    (folder / "results").mkdir()
    (folder / "results/table.txt").write_text("1")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/agent.pyc").write_text("")
    (board / ".gitignore").write_text("results/\ntraces/\n__pycache__/\n")
    git(board, "commit", "-qam", "Ignore")

    fault = checks(board)["only your own folder is changed"]

    assert fault == "submissions/alice/new/results/table.txt is ignored by git, which would leave it out: rename it"


@pytest.mark.attack(
    "remote_named_to_be_run", family="pages", outcome="quoted",
    tries="Gives a clone whose branch and remote are named so that a printed command, pasted into a shell, runs another.",
)  # fmt: skip
def test_every_word_of_a_command_is_safe_in_a_shell(board: Path) -> None:
    of_host(board, "https://github.com/host/board")
    git(board, "config", "remote.x;touch ran.url", "https://github.com/alice/board")
    git(board, "switch", "-qc", "b;touch${IFS}ran")

    commands, page, _ = steps(board)

    assert shlex.split(commands[-1]) == ["git", "push", "-u", "x;touch ran", "b;touch${IFS}ran"]
    assert page == f"{BOARD}/compare/main...alice:b%3Btouch%24%7BIFS%7Dran?expand=1"


def test_an_evaluation_ends_with_the_next_step(board: Path) -> None:
    failing = str(put(board / "submissions/alice/failing", CRASHING, "[CartPole-v1]").relative_to(board))
    put(board / "example_agents/elsewhere", LEGAL + "# an example\n", "[CartPole-v1]")

    said = {
        folder: run(board, "evaluate", folder, "--sandbox", "process")[2]
        for folder in ("submissions/alice/new", failing, "example_agents/elsewhere")
    }

    assert said["submissions/alice/new"].endswith("\nNext: pullrank ready submissions/alice/new\n")
    assert not any("Next:" in said[folder] for folder in (failing, "example_agents/elsewhere"))


def test_what_is_missing_is_said_with_what_to_do(board: Path) -> None:
    (board / "challenge.yml").write_text(GAMES + "# changed\n")
    put(board / "example_agents/elsewhere", LEGAL)

    faults = checks(board)

    assert faults["CartPole-v1"] == "this version was not evaluated here; run 'pullrank evaluate submissions/alice/new'"
    paths = faults["only your own folder is changed"]
    assert "challenge.yml lies outside of submissions/alice/: undo it, or leave it out" in paths
    assert "example_agents/elsewhere/agent.py" in paths
    assert checks(board, "example_agents/elsewhere")["login"] == (
        "example_agents/elsewhere: put it at submissions/<your login>/elsewhere"
    )
    (board / "submissions/alice/new/agent.py").write_text("x = 1\n")
    assert run(board, "ready", "submissions/alice/new")[0] == 1


def test_a_validated_player_is_ready_with_its_opponents_and_its_place(board: Path) -> None:
    put(board / "example_agents/random", LAST_LEGAL, "all")
    git(board, "add", ".")
    git(board, "commit", "-qm", "A baseline")
    player = put(board / "submissions/alice/player", LEGAL + "# a player\n").relative_to(board)
    assert checks(board, str(player))["tictactoe"] == (
        f"this version was not evaluated here; run 'pullrank evaluate {player}'"
    )
    assert run(board, "field", str(player), "--sandbox", "process")[0] == 0

    code, out, err = run(board, "ready", str(player))
    document = json.loads(run(board, "ready", str(player), "--json")[1])

    assert (code, document["ready"]) == (0, True), err
    assert "ok  tictactoe: validated in 4 matches against itself; " in err
    assert " against local/random" in err
    assert " Elo, " in out
    assert document["places"] == [{"task": "tictactoe", "place": 1, "of": 1}]  # the baseline has none


@pytest.mark.parametrize(
    ("source", "fault"), [(ILLEGAL, "match 1, move 2: the illegal move 4 "), (CRASHING, "ZeroDivisionError")]
)
def test_a_player_that_may_not_enter_is_not_ready(board: Path, source: str, fault: str) -> None:
    player = put(board / "submissions/alice/player", source).relative_to(board)
    assert run(board, "evaluate", str(player), "--sandbox", "process")[0] == 1

    code, _, err = run(board, "ready", str(player))

    assert code == 1
    assert "no  tictactoe: it may not enter: " in err
    assert fault in err
    assert "git switch" not in err


@pytest.mark.attack(
    "file_named_with_escapes_beside_the_agent", family="pages", outcome="one line, marks",
    tries="Puts a file with terminal escapes and a line end in its name beside the folder that is to be submitted.",
)  # fmt: skip
def test_no_name_of_a_file_reaches_the_terminal_as_it_is(board: Path) -> None:
    (board / "a\x1b[2Jb\n::set-output::").write_text("")

    code, out, err = run(board, "ready", "submissions/alice/new")

    assert code == 1
    assert "lies outside of" in err
    assert "\x1b" not in out + err
    assert not any(line.startswith("::") for line in err.splitlines())


@pytest.mark.attack(
    "message_of_escapes_in_ready", family="pages", outcome="one line, marks",
    tries="Fails with terminal escapes and a runner's command in its message, to be repeated by `ready`.",
)  # fmt: skip
def test_no_message_reaches_the_terminal_as_it_is(board: Path) -> None:
    (board / "submissions/alice/new/agent.py").write_text(
        "class Agent:\n    def act(self, o):\n        raise ValueError('\\x1b]0;t\\x07\\n::error::x\\u202e')\n"
    )
    run(board, "evaluate", "submissions/alice/new", "--sandbox", "process")

    _, out, err = run(board, "ready", "submissions/alice/new")
    (document,) = json.loads(run(board, "show", "submissions/alice/new", "--json")[1])

    assert "no  CartPole-v1: crashed: " in err
    for text in (out, err, document["message"], document["log_tail"]):
        assert not any(sign in text for sign in ("\x1b", "\x07", "\u202e"))
    assert not any(line.startswith("::") for line in err.splitlines())


@pytest.mark.attack(
    "name_of_escapes_in_the_field", family="pages", outcome="refused or shown as marks",
    tries="Enters a game under a name with terminal escapes, to be met by `field`.",
)  # fmt: skip
def test_the_field_plays_everybody_and_shows_no_escape(board: Path) -> None:
    put(board / "submissions/alice/player", LEGAL)
    put(board / "submissions/bob/other", LAST_LEGAL)
    hostile = put(board / "submissions/eve/third", LAST_LEGAL + "# another\n")
    (hostile / "submission.yml").write_text('name: "\\e[2J::x"\nalgorithm: none\ntasks: [tictactoe]\n')

    code, out, err = run(board, "field", "submissions/alice/player", "--sandbox", "process")

    assert code == 0
    assert " Elo on tictactoe, place " in out
    assert "tictactoe: " in out
    assert "\x1b" not in out + err


def test_failures_are_json_too(board: Path) -> None:
    (board / "submissions/alice/new/submission.yml").write_text("name: A\nalgorithm: b\ntasks: [CartPole-v2]\n")

    code, out, _ = run(board, "evaluate", "submissions/alice/new", "--json")

    assert json.loads(out) == {
        "code": code,
        "errors": [{
            "what": "there is no task 'CartPole-v2'", "where": "submissions/alice/new/submission.yml:3",
            "hint": "did you mean 'CartPole-v1'?",
        }],
    }  # fmt: skip
    assert json.loads(run(board, "evaluate", "submissions/alice/new", "--jsom", "--json")[1])["code"] == 2


# Verbs with --json, each with words that make it fail, whatever else is on the board.
FAILING = {
    "check": ("absent",), "evaluate": ("absent",), "show": ("absent",), "ready": ("absent",),
    "duel": ("absent", "absent", "--game", "tictactoe"), "tournament": ("--game", "absent"), "rank": ("--task", "absent"),
    "verify": ("absent",), "plan": ("--sandbox", "absent"), "grades": ("--absent",), "demo": ("--sandbox", "absent"),
    "probe": ("--sandbox", "absent"), "import-evalai": ("absent",), "quarantine": ("--absent",), "doctor": ("--absent",),
}  # fmt: skip


def _takes_json(command: str) -> bool:
    run = importlib.import_module(f"scripts.commands.{command.replace('-', '_')}").run
    return not isinstance(run, typer.Typer) and "as_json" in inspect.signature(run).parameters


def test_every_verb_with_json_is_tried_with_a_fault() -> None:
    assert {command for command in COMMANDS if _takes_json(command)} <= FAILING.keys()


@pytest.mark.parametrize("command", [command for command in COMMANDS if _takes_json(command)])
def test_a_fault_of_every_verb_is_one_json_document(board: Path, command: str) -> None:
    code, out, err = run(board, command, *FAILING[command], "--json")

    document = json.loads(out)
    assert code in (1, 2, 3), err
    faults = document["checks"] if command == "ready" else document["errors"]
    assert all(fault["what"] for fault in faults)
    assert command == "ready" or all(fault.keys() == {"what", "where", "hint"} for fault in faults)


def test_a_fault_of_ours_is_json_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(command: str | None) -> int:
        raise RuntimeError("the engine\nfell over")

    monkeypatch.setattr(cli, "_run", fail)
    monkeypatch.setattr("sys.argv", ["pullrank", "rank", "--json"])

    code = cli._exit_code("rank", debug=False)

    document = json.loads(capsys.readouterr().out)
    assert (code, document["code"], len(document["errors"])) == (3, 3, 1)
    assert "RuntimeError: the engine fell over" in str(document["errors"][0])


def test_a_misspelt_command_is_answered_with_the_nearest(board: Path) -> None:
    assert run(board, "evaluat")[2] == "there is no command 'evaluat'; did you mean 'evaluate'?\n"


def test_rank_names_what_is_recorded_but_not_on_this_branch(board: Path) -> None:
    run(board, "evaluate", "submissions/alice/new", "--sandbox", "process")
    (board / "submissions/alice").rename(board / "elsewhere")

    assert "Recorded, but not on this branch, so not ranked: alice/new;" in run(board, "rank")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_ends_with_an_example(board: Path, command: str) -> None:
    out = run(board, command, "--help")[1]

    assert f"Example: pullrank {command} " in " ".join(out.split())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(board: Path, shell: str) -> None:
    _, out, _ = run(board, "completion", shell)

    assert " ".join(COMMANDS) in out


@pytest.mark.attack(
    "challenge_in_an_agents_folder", family="supply", outcome="the board's own is used",
    tries="Brings a challenge.yml that names its own module as an environment, for whoever evaluates it in its folder.",
)  # fmt: skip
@pytest.mark.parametrize("place", ["submissions/eve/net", "submissions/eve/net/deeper"])
def test_an_agents_folder_is_no_board(board: Path, place: str) -> None:
    put(board / "submissions/eve/net", LEGAL, "[CartPole-v1]")
    folder = board / place
    folder.mkdir(exist_ok=True)
    (folder / "theirs.py").write_text(f"open({str(board / 'ran')!r}, 'w')\n")
    (folder / "challenge.yml").write_text(
        GAMES.replace("  - id: CartPole-v1\n", "  - id: CartPole-v1\n    env: theirs:X-v1\n")
    )

    code, _, err = run(folder, "evaluate", str(board / "submissions/eve/net"), "--sandbox", "process")

    assert not (board / "ran").exists()
    assert code == 0, err


def test_a_copy_is_found_before_it_is_committed(board: Path) -> None:
    shutil.rmtree(board / "submissions/alice/new")
    put(board / "submissions/alice/new", LEGAL, "[CartPole-v1]")
    run(board, "evaluate", "submissions/alice/new", "--sandbox", "process")

    before = checks(board)["only your own folder is changed"]
    git(board, "switch", "-qc", "new")
    git(board, "add", "submissions/alice/new")
    git(board, "commit", "-qm", "Enter new")

    assert "submissions/bob/old" in before
    assert checks(board)["only your own folder is changed"] == before, "as the bot will say"


def test_a_task_that_is_no_longer_entered_is_no_part_of_it(board: Path) -> None:
    second = "  - id: CartPole-second\n    env: CartPole-v1\n    max_episode_steps: 5\n    episodes: 1\n"
    rules = board / "challenge.yml"
    rules.write_text(rules.read_text().replace("tasks:\n", f"tasks:\n{second}", 1))
    git(board, "commit", "-qam", "A second task")
    for tasks in ("[CartPole-second]", "[CartPole-v1]"):
        shutil.rmtree(board / "submissions/alice/new")
        put(board / "submissions/alice/new", LEGAL + "# mine\n", tasks)
        run(board, "evaluate", "submissions/alice/new", "--sandbox", "process")

    _, out, _ = run(board, "show", "submissions/alice/new")
    ready = run(board, "ready", "submissions/alice/new")

    assert "CartPole-second" in out, "it stays in the records"
    assert "CartPole-second" not in ready[1] + ready[2]
