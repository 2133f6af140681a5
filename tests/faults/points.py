"""The named points: which run is disturbed, where, how, and what must hold afterwards besides what holds for all.

For all: the same command, run again, ends well; the records are those of an undisturbed run but for times; each is there
once; no container, process, control group, temporary folder, lock or half-written file of the disturbed run is left.
"""

from dataclasses import dataclass

KILL = "kill"


@dataclass(frozen=True, kw_only=True)
class FaultPoint:
    """One point."""

    name: str
    run: str
    """The disturbed run, of `runs.py`."""
    at: str = ""
    """Module and function; empty where nothing happens inside the run."""
    when: str = "before"
    """`before` or `after` a call of it, or in the `middle` of what the file that it opens is written."""
    call: int = 1
    act: str = KILL
    """What the process does to itself there, see `hook/sitecustomize.py`."""
    outside: str = ""
    """What is done to it from outside while it stands there, of `breakages.py`."""
    breakage: str = ""
    """What is broken around it, of `breakages.py`."""
    ends: tuple[int, ...] = (-9,)
    """The exit codes that the disturbed run may have."""
    words: str
    """The place, for a reader."""
    usual: bool = False
    """Whether it belongs to the usual tests; the others need PULLRANK_ALL_FAULTS=1."""


ENGINE = "evaluator.host.docker.engine:Engine"
REFEREE = "evaluator.host.solo.referee"
ADVANCE = f"{REFEREE}:EpisodeBatch.advance"
STORE = "leaderboard.core.store"

POINTS = (
    # An evaluation in a container.
    FaultPoint(name="container-not-made", run="docker", at=f"{ENGINE}.create", words="before the container is made"),
    FaultPoint(
        name="container-not-started", run="docker", at=f"{ENGINE}.create", when="after", usual=True,
        words="when the container is made and not started",
    ),
    FaultPoint(name="container-attached", run="docker", at=f"{ENGINE}.attach", when="after", words="when it is attached"),
    FaultPoint(
        name="container-started", run="docker", at=f"{ENGINE}.start", when="after", words="when it has just started"
    ),
    FaultPoint(
        name="agent-ready", run="docker", at="evaluator.host.sandboxes.handshake:Ready.read", when="after",
        words="when the agent has said that it is ready",
    ),
    FaultPoint(
        name="mid-episode", run="docker", at=ADVANCE, call=5, usual=True,
        words="in the middle of an episode",
    ),
    FaultPoint(
        name="between-episodes", run="docker", at=f"{REFEREE}:EpisodeBatch._renew", when="after",
        words="when one episode has ended and the next has not begun",
    ),
    FaultPoint(name="container-not-removed", run="docker", at=f"{ENGINE}.remove", words="before the container is removed"),
    FaultPoint(
        name="container-removed", run="docker", at=f"{ENGINE}.remove", when="after", words="when the container is removed"
    ),
    # What a process of its own leaves.
    FaultPoint(
        name="process-started", run="process", at="evaluator.host.sandboxes.process_sandbox:ProcessSandbox._open",
        when="after", words="when an agent's process has started", usual=True,
    ),
    FaultPoint(
        name="process-mid-episode", run="process", at=ADVANCE, call=5,
        words="in the middle of an episode of the process sandbox", usual=True,
    ),
    # Writing a result.
    FaultPoint(
        name="trace-half-written", run="process", at="os:fdopen", when="middle", call=1,
        words="when half of the trace is written", usual=True,
    ),
    FaultPoint(
        name="trace-not-named", run="process", at="os:fsync", when="after", call=1,
        words="when the trace is written and has not its name", usual=True,
    ),
    FaultPoint(
        name="trace-without-result", run="process", at=f"{STORE}:write_atomically", when="after", call=1,
        words="after the trace and before the result",
    ),
    FaultPoint(
        name="result-half-written", run="process", at="os:fdopen", when="middle", call=2,
        words="when half of the result is written",
    ),
    FaultPoint(
        name="result-written", run="process", at=f"{STORE}:ResultStore.write", when="after",
        words="when the result is written and nothing was said",
    ),
    # A tournament.
    FaultPoint(
        name="duel-first", run="tournament", at="evaluator.host.duels.evaluate_duel:play_duel", call=1,
        words="before the first duel",
    ),
    FaultPoint(
        name="duel-played", run="tournament", at="evaluator.host.duels.evaluate_duel:play_duel", when="after", call=3,
        words="when a duel is played and not recorded",
    ),
    FaultPoint(
        name="duel-recorded", run="tournament", at=f"{STORE}:ResultStore.write", when="after", call=2, usual=True,
        words="between two duels of a tournament",
    ),
    FaultPoint(
        name="duel-half-written", run="tournament", at="os:fdopen", when="middle", call=2,
        words="when half of a duel is written",
    ),
    # The same with a process for each duel.
    FaultPoint(
        name="duel-beside", run="beside", at="evaluator.host.duels.evaluate_duel:play_duel", ends=(3,), usual=True,
        words="when the process of one of several evaluations plays a duel; the command ends with a message",
    ),
    # The official run.
    FaultPoint(
        name="shard-first-result", run="shard", at=f"{STORE}:ResultStore.write", when="after",
        words="when a shard's result is written", usual=True,
    ),
    FaultPoint(
        name="shard-claim-half-written", run="shard", at="os:fdopen", when="middle", call=3,
        words="when half of the shard's own statement is written",
    ),
    FaultPoint(
        name="publish-checked", run="publish", at="scripts.github.official.check_shards:_replay", when="after",
        words="when the shards are replayed and nothing is accepted",
    ),
    FaultPoint(
        name="publish-accepted-half", run="publish", at=f"{STORE}:write_atomically", when="after", call=2,
        words="when half of what passed is in the folder",
    ),
    FaultPoint(
        name="publish-built", run="publish", at="scripts.git.data_branches:DataBranches.build", when="after", call=1,
        words="between results and traces: one branch's commits are built", usual=True,
    ),
    FaultPoint(
        name="publish-before-push", run="publish", at="scripts.git.data_branches:DataBranches.push",
        words="before the push",
    ),
    FaultPoint(
        name="publish-after-push", run="publish", at="scripts.git.data_branches:DataBranches.push", when="after",
        words="after the push, before anybody is told", usual=True,
    ),
    FaultPoint(
        name="announce-comment", run="announce",
        at="scripts.github.pull_request.announce_official_scores:announce_merged", when="after",
        words="when the score is announced and the step has not ended",
    ),
    FaultPoint(
        name="reconcile-first", run="reconcile", at="scripts.github.pull_request.reconcile:reconcile_pulls",
        words="before the hourly run looks for what was missed",
    ),
    # The site.
    FaultPoint(
        name="site-copied", run="site", at="shutil:copytree", when="after", call=1, words="when half of the pages are copied"
    ),
    FaultPoint(
        name="site-mkdocs", run="site", at="mkdocs.commands.build:build", ends=(3,), words="MkDocs itself, when it begins",
    ),
    FaultPoint(
        name="site-documents", run="site", at="scripts.static_site.build_site:_put", call=20, ends=(-9, 3),
        words="in the middle of writing the documents",
    ),
    FaultPoint(
        name="site-merging", run="site", at="scripts.static_site.build_site:_move", words="before both halves are joined",
    ),
    FaultPoint(
        name="site-swap", run="site", at="pathlib:Path.rename", call=1,
        words="when the old site is gone and the new one has not its name",
    ),
    # The end of a season.
    FaultPoint(
        name="close-verified", run="close", at="scripts.static_site.build_site:build", words="when all is verified",
    ),
    FaultPoint(
        name="close-frozen-half", run="close", at="shutil:copytree", when="after", call=4,
        words="when the pages are frozen and nothing is cited",
    ),
    FaultPoint(
        name="close-archive", run="close", at="scripts.maintenance.close_season:_add", call=5,
        words="in the middle of packing",
    ),
    FaultPoint(
        name="close-not-recorded", run="close", at="scripts.maintenance.close_season:close_season", when="after",
        words="when everything is written and season.json does not say so",
    ),
    # The demonstration.
    FaultPoint(
        name="demo-verified", run="demo", at="scripts.verification.verify_records:SeenRecords.remember",
        words="when everything is replayed and that is not noted",
    ),
    FaultPoint(
        name="demo-evaluated", run="demo", at=f"{STORE}:ResultStore.write", when="after", call=1,
        words="after the first evaluation",
    ),
    # Clocks.
    FaultPoint(
        name="clock-forward", run="process", at=ADVANCE, call=5, act="clock", ends=(0,), usual=True,
        words="the clock jumps a day forward in the middle of an episode",
    ),
    FaultPoint(
        name="clock-back", run="process", at=ADVANCE, call=5, act="clock-back", ends=(0,),
        words="the clock jumps a day back in the middle of an episode",
    ),
    FaultPoint(
        name="machine-asleep", run="process", at=ADVANCE, call=5, act="monotonic", ends=(0,), usual=True,
        words="the machine was asleep for a day in the middle of an episode",
    ),
    FaultPoint(
        name="machine-asleep-docker", run="docker", at=ADVANCE, call=5, act="monotonic", ends=(0,),
        words="the machine was asleep for a day, with a container",
    ),
    FaultPoint(
        name="machine-asleep-duel", run="tournament", at="evaluator.host.duels.duel_referee:SideClock.note_arrival", call=5,
        act="monotonic", ends=(0,), words="the machine was asleep for a day in the middle of a duel",
    ),
    # Disks.
    FaultPoint(
        name="disk-full-results", run="process", breakage="no room for records", ends=(3,), usual=True,
        words="the disk is full where results lie",
    ),
    FaultPoint(
        name="disk-full-temporary", run="process", breakage="no room for temporary files", ends=(0, 3),
        words="the disk is full where temporary files lie; Python takes another folder",
    ),
    FaultPoint(
        name="disk-full-duels", run="tournament", breakage="no room for records", ends=(3,),
        words="the disk is full where duels lie",
    ),
    FaultPoint(
        name="disk-full-site", run="site", breakage="no room for the site", ends=(3,),
        words="the disk is full where the site is built",
    ),
    FaultPoint(
        name="truncated-result", run="process", breakage="truncated results", ends=(0,), usual=True,
        words="a recorded result lost its second half",
    ),
    FaultPoint(
        name="truncated-trace", run="process", breakage="truncated traces", ends=(0,), usual=True,
        words="a recorded trace lost its second half",
    ),
    FaultPoint(
        name="truncated-duels", run="tournament", breakage="truncated results", ends=(0,),
        words="recorded duels lost their second halves",
    ),
    FaultPoint(
        name="truncated-notes", run="demo", breakage="truncated notes of what was replayed", ends=(0,),
        words="the notes of what was replayed lost their second half",
    ),
    FaultPoint(
        name="truncated-pictures", run="site", breakage="truncated pictures", ends=(0,),
        words="the kept pictures of episodes lost their second halves",
    ),
    # Several at once, and machines that die.
    FaultPoint(
        name="two-evaluators", run="docker", breakage="another run beside it", ends=(0,),
        words="two evaluators play the same agent on one machine",
    ),
    FaultPoint(
        name="two-tournaments", run="tournament", breakage="another run beside it", ends=(0,),
        words="two tournaments on one board",
    ),
    FaultPoint(
        name="runner-dies", run="shard", at=ADVANCE, call=3, outside="the runner dies", usual=True,
        words="the machine of a shard dies in the middle of an episode",
    ),
    FaultPoint(
        name="runner-dies-building", run="site", at="scripts.static_site.build_site:_move",
        outside="the runner dies", words="the machine that builds the site dies, MkDocs and all",
    ),
    # The engine.
    FaultPoint(
        name="engine-killed", run="docker", at=ADVANCE, call=5, outside="the engine is killed", ends=(0, 3),
        words="the engine is killed in the middle of an episode",
    ),
    FaultPoint(
        name="engine-restarted", run="docker", at=ADVANCE, call=5, outside="the engine is restarted", ends=(0, 3),
        words="the engine is restarted in the middle of an episode",
    ),
    FaultPoint(
        name="engine-killed-before-start", run="docker", at=f"{ENGINE}.start", outside="the engine is killed",
        ends=(0, 3), words="the engine is killed between making and starting a container",
    ),
    FaultPoint(
        name="engine-killed-before-removal", run="docker", at=f"{ENGINE}.remove", outside="the engine is killed",
        ends=(0, 3), words="the engine is killed before the container is removed",
    ),
    FaultPoint(
        name="image-build", run="image", at=f"{ENGINE}.build", act="kill-soon", words="while the image is built",
    ),
    # Pushes.
    FaultPoint(
        name="push-cut-before", run="publish", breakage="the push is cut before it is taken", ends=(3,), usual=True,
        words="the push is cut before it is taken",
    ),
    FaultPoint(
        name="push-cut-after", run="publish", breakage="the push is cut after it was taken", ends=(0, 3), usual=True,
        words="the push is cut when all was taken and nothing answered",
    ),
    FaultPoint(
        name="lock-left", run="publish", breakage="a lock that somebody left", ends=(0,),
        words="locks of another git lie in the clone",
    ),
)  # fmt: skip
