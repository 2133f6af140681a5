"""Evaluations side by side: the same records as one after another, processors of their own, and nothing left of a stop."""

import itertools
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.host.progress import PlayProgress, ReportProgress, ignore_progress
from scripts.console import CommandError
from scripts.runs.parallel_jobs import FreeResources, ParallelJob, parse_jobs, run_jobs
from scripts.terminal.progress_display import play_display, progress_in_words
from tests.faults.runs import without_times
from tests.scripts.checkouts import LAST_LEGAL, LEGAL, game_board, records, run, start, submit

PROCESSORS = tuple(sorted(os.sched_getaffinity(0)))
FREE = FreeResources(processors=PROCESSORS, memory_mib=1 << 20)
several = pytest.mark.skipif(len(PROCESSORS) < 2, reason="one processor has nothing to hand out")


def job(play: object, *, processors: int = 1, memory_mib: int = 1, title: str = "a job") -> ParallelJob[object]:
    return ParallelJob(title=title, play=lambda report: play, processors=processors, memory_mib=memory_mib)


def seen(report: ReportProgress) -> tuple[int, set[int], float, float]:
    """The process, its processors, and when it had them."""
    begun = time.monotonic()
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    return os.getpid(), os.sched_getaffinity(0), begun, time.monotonic()


@several
def test_no_two_at_once_share_a_processor() -> None:
    jobs = [ParallelJob(title="", play=seen, processors=count, memory_mib=1) for count in (1, 1, 2, 1, 1, 2, 1)]
    found = dict(run_jobs(jobs, None, quiet=True, free=FREE))

    assert sorted(found) == list(range(len(jobs)))
    assert all(process != os.getpid() for process, *_ in found.values())
    assert len(found[2][1]) == len(found[5][1]) == 2
    for one, (_, mine, begun, ended) in found.items():
        for other, (_, theirs, start_of, end_of) in found.items():
            if one != other and begun < end_of and start_of < ended:
                assert not mine & theirs


@several
def test_memory_bounds_how_many_play_at_once() -> None:
    small = FreeResources(processors=PROCESSORS, memory_mib=1000)
    jobs = [ParallelJob(title="large", play=seen, processors=1, memory_mib=600) for _ in range(3)]
    times = sorted(value[2:] for _, value in run_jobs(jobs, None, quiet=True, free=small))

    assert all(before[1] <= after[0] for before, after in itertools.pairwise(times))


def test_one_job_and_one_at_a_time_stay_in_this_process() -> None:
    here = ParallelJob(title="pid", play=lambda report: os.getpid(), processors=1, memory_mib=1)

    assert list(run_jobs([here], None, quiet=True, free=FREE)) == [(0, os.getpid())]
    assert [value for _, value in run_jobs([here] * 3, 1, quiet=True, free=FREE)] == [os.getpid()] * 3


@several
@pytest.mark.parametrize("at_once", [1, 2])
def test_what_may_not_start_is_left_out(at_once: int) -> None:
    jobs = [job(name) for name in "abc"]

    played = run_jobs(jobs, at_once, quiet=True, free=FREE, may_start=lambda index: index != 1)

    assert sorted(played) == [(0, "a"), (2, "c")]


@several
def test_a_failure_in_a_process_ends_the_others() -> None:
    def fail(report: ReportProgress) -> None:
        raise CommandError(3, "one line", "another")

    jobs = [
        ParallelJob(title="failing", play=fail, processors=1, memory_mib=1),
        ParallelJob(title="sleeping", play=lambda report: time.sleep(600), processors=1, memory_mib=1),
    ]
    with pytest.raises(CommandError) as caught:
        list(run_jobs(jobs, None, quiet=True, free=FREE))
    assert str(caught.value).startswith("one line\nanother")
    assert caught.value.code == 3


@several
@pytest.mark.attack(
    "environment_that_takes_the_others_along", family="cheating", outcome="everybody else's results are recorded",
    tries="Plays actions by which a library of the environment ends the referee's process, with all that waited for it.",
)  # fmt: skip
@pytest.mark.parametrize("fails", [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: [][0]], ids=["killed", "raises"])
def test_a_process_that_dies_costs_its_own_job_alone(fails: Callable[[], object]) -> None:
    def die(report: ReportProgress) -> None:
        fails()

    dying = [ParallelJob[object](title=f"dying {i}", play=die, processors=1, memory_mib=1) for i in range(3)]
    played = run_jobs([*dying, *map(job, "abc")], 2, quiet=True, free=FREE)

    assert sorted(itertools.islice(played, 3)) == [(3, "a"), (4, "b"), (5, "c")]
    with pytest.raises(CommandError) as caught:
        next(played)
    lines = str(caught.value).splitlines()
    assert sorted(line.partition(":")[0] for line in lines) == ["dying 0", "dying 1", "dying 2"]
    assert caught.value.code == 3


def test_jobs_are_a_number_or_auto() -> None:
    assert (parse_jobs("auto"), parse_jobs("3")) == (None, 3)
    for wanted in ("0", "-1", "many", "²", "1.5"):
        with pytest.raises(CommandError, match="from 1 on"):
            parse_jobs(wanted)


def test_progress_says_steps_and_the_score_so_far() -> None:
    played = PlayProgress(done=4, total=100, steps=1234, share=0.1, scores=[1.0, 2.0, 3.0, 4.0])

    assert progress_in_words(played) == "4/100, 1,234 steps, 2.5 ± 1.3"
    assert progress_in_words(PlayProgress(done=0, total=10, steps=0, share=0)) == "0/10"


def test_piped_display_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    with play_display(2, quiet=False) as display, display.line("a line") as report:
        report(PlayProgress(done=1, total=2, steps=1, share=0.5))

    assert capfd.readouterr() == ("", "")
    ignore_progress(PlayProgress(done=1, total=2, steps=1, share=0.5))


@pytest.fixture
def board(tmp_path: Path) -> Path:
    made = game_board(tmp_path)
    submit(made, "last", LAST_LEGAL)
    submit(made, "other", LEGAL + "# another\n", tasks="all", login="bob")
    return made


def without_measurements(board: Path) -> dict[str, object]:
    files = records(board)
    return {name: without_times(json.loads(content)) for name, content in files.items()}


@several
def test_records_are_the_same_as_one_after_another(board: Path) -> None:
    words = ("evaluate", "submissions/bob/other", "--sandbox", "process", "--jobs")
    assert run(board, *words, "1")[0] == 0
    one_by_one = without_measurements(board)
    for name in records(board):
        (board / name).unlink()
    code, _, err = run(board, *words, "4")
    assert code == 0, err
    assert "\x1b" not in err

    assert without_measurements(board) == one_by_one
    code, _, err = run(board, "verify", "--rerun", "--sandbox", "process", "--jobs", "2")
    assert code == 0, err
    assert f"{len(one_by_one)} verified" in err


ACROBOT = "  - id: Acrobot-v1\n{}"
STUCK = "import time\nclass Agent:\n    def act(self, observation):\n        time.sleep(600)\n"


@several
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    (tmp_path / "board").mkdir()
    board = game_board(tmp_path / "board")
    submit(board, "stuck", STUCK, tasks="all")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("PULLRANK_TEST_ROOM", str(temporary))
    text = (board / "challenge.yml").read_text().replace("limits: {", "limits: {answer_seconds: 600, ")
    second = ACROBOT.format(text[text.index("    episodes") : text.index("  - id: tictactoe")])
    (board / "challenge.yml").write_text(text.replace("  - id: tictactoe", f"{second}  - id: tictactoe"))
    process = start(board, "evaluate", "submissions/alice/stuck", "--sandbox", "process", "--jobs", "2")
    wait_until(lambda: sum("evaluator.sandbox.main" in words for words in running(temporary)) >= 2, process)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)

    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    assert "Traceback" not in err
    wait_until(lambda: not running(temporary))
    assert [path.name for path in temporary.iterdir()] == []
    assert not records(board)


def running(room: Path) -> list[str]:
    """Command lines of the processes that were started with this temporary folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            variables = (path / "environ").read_bytes().split(b"\0")
            words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if (
                int(path.name) != os.getpid()
                and words
                and (f"PULLRANK_TEST_ROOM={room}".encode() in variables or str(room) in str((path / "cwd").readlink()))
            ):
                found.append(words)
        except OSError:
            continue
    return found


def wait_until(holds: object, process: "subprocess.Popen[str] | None" = None) -> None:
    until = time.monotonic() + 60
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < until
        assert process is None or process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
