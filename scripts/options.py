"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

AgentArgument = Annotated[Path, typer.Argument(help="The agent's folder.", metavar="DIR")]
LocalSandbox = Annotated[str, typer.Option(help="auto, docker, gvisor or process.")]
Jobs = Annotated[
    str, typer.Option("--jobs", help="The most played at once; auto for as many as there are processors and memory for.")
]
OfficialOnly = Annotated[bool, typer.Option(help="Only official results.")]
OnlyTasks = Annotated[list[str] | None, typer.Option(help="Only this task, by id or title; may be given again.")]
PlayAgain = Annotated[bool, typer.Option(help="Play even what is recorded.")]
JsonDocument = Annotated[bool, typer.Option("--json", help="Print a JSON document.")]
JsonList = Annotated[bool, typer.Option("--json", help="Print a JSON list.")]
JsonFindings = Annotated[bool, typer.Option("--json", help="Print a JSON list of findings.")]
AdministratorToken = Annotated[
    str, typer.Option(envvar=["GH_TOKEN", "GITHUB_TOKEN"], help="An administrator's token.", show_envvar=True)
]
ApiAddress = Annotated[str, typer.Option(envvar="GITHUB_API_URL", help="Address of GitHub's API.")]
ServerAddress = Annotated[str, typer.Option(envvar="GITHUB_SERVER_URL", help="The only server that gets the token.")]
GITHUB_API, GITHUB_SERVER = "https://api.github.com", "https://github.com"
