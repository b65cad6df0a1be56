#!/usr/bin/env python3
"""The whole loop of the timewarp protocol, driven over MCP by the client library of PyPI.

    python3 -m venv venv && venv/bin/pip install mcp
    venv/bin/python examples/mcp-client.py [--revision 2025|2026] [TW]

TW is the binary, by default 'tw' of the PATH. Works in a repository of its own under a temporary directory, with a HOME of its
own, and says each step. Ends with an error at the first surprise.
"""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters, types

PROGRAM = "def total(prices):\n    return sum(prices[1:])\n"
FIXED = PROGRAM.replace("prices[1:]", "prices")
CHECK = [sys.executable, "-c", "from shop import total; assert total([1, 2]) == 3"]


class World:
    """A repository and a home for one run."""

    def __init__(self, tw, room):
        self.tw = tw
        self.repo = Path(room, "shop")
        self.home = Path(room, "home")
        self.repo.mkdir()
        self.home.mkdir()
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "TW_NO_BACKGROUND": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, *words):
        return subprocess.run(words, cwd=self.repo, env=self.env, check=True, text=True, capture_output=True).stdout.strip()

    def holds(self):
        """Whether the program does what it should."""
        return subprocess.run(CHECK, cwd=self.repo, env=self.env, capture_output=True).returncode == 0

    @property
    def program(self):
        return self.repo / "shop.py"


def say(step, text):
    print(f"{step:<12} {text}")


async def call(client, tool, **arguments):
    """Calls a tool that must succeed. The library checks the answer against the tool's output schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return result.structured_content


async def refused(client, tool, **arguments):
    """Calls a tool that must fail, and gives the code."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return result.structured_content["error"]["code"]


async def loop(client, world):
    tools = (await client.list_tools()).tools
    say("connected", f"revision {client.protocol_version}, {len(tools)} tools")
    for tool in tools:
        hints = tool.annotations
        assert None not in (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint), tool.name

    # 1. Session start: a hook does this.
    session = world.run(world.tw, "-q", "session", "start", "--agent", "generic", "--hint", "sum up prices")
    status = await call(client, "timewarp_status")
    say("session", f"{session}: {status['state']['session_snapshot_id']}")

    # 2. Report.
    assert not world.holds()
    reported = await call(
        client,
        "issue_report",
        task_context="summing up prices",
        symptom="total() leaves the first price out",
        success_criteria="total([1, 2]) is 3",
        severity="high",
    )
    issue = reported["issue_id"]
    say("report", f"{issue}: {reported['issue']['symptom']}")
    world.program.write_text(PROGRAM + "\n# the work went on\n")
    present = world.program.read_text()

    # 3. List and get; the resource and the prompt.
    listed = await call(client, "timewarp_issue_list")
    got = await call(client, "timewarp_issue_get", issue_id=issue)
    say("list, get", f"{listed['count']} open; {got['issue']['severity']}; {got['origin']['notice']}")
    resources = (await client.list_resources()).resources
    read = await client.read_resource(resources[0].uri)
    say("resource", f"{resources[0].uri}: {len(read.contents[0].text)} characters")
    prompt = await client.get_prompt("timewarp_protocol", {"issue_id": issue})
    say("prompt", prompt.messages[0].content.text.splitlines()[0])

    # 4. Travel.
    travelled = await call(client, "timewarp_travel", issue_id=issue)
    assert world.program.read_text() == PROGRAM and not world.holds()
    say("travel", f"run {travelled['run']} at {travelled['snapshot_id']}; reproduced")
    say("refused", f"{await refused(client, 'timewarp_return')}: returning without the guard token")

    # 5. Experiment.
    world.program.write_text(FIXED)
    assert world.holds()
    await call(
        client,
        "timewarp_issue_update",
        issue_id=issue,
        repro="total([1, 2]) gave 2",
        changes="shop.py sums up all prices",
        validation="total([1, 2]) == 3",
        result="passes",
    )
    say("experiment", "the check passes")

    # 6. Return.
    returned = await call(client, "timewarp_return", guard_token=travelled["guard_token"])
    assert returned["verified"] and world.program.read_text() == present
    say("return", f"verified; the experiment is {returned['experiment_id']}")

    # 7. Re-apply, and close, which is the user's.
    diff = await call(client, "timewarp_diff", **{"from": travelled["snapshot_id"], "to": returned["experiment_id"], "patch": True})
    assert [file["path"] for file in diff["files"]] == ["shop.py"]
    await call(client, "timewarp_snapshot", message="before re-applying")
    world.program.write_text(present.replace("prices[1:]", "prices"))
    assert world.holds()
    world.run(world.tw, "issue", "close", issue, "--status", "fixed", "--note", "sums up all")
    closed = await call(client, "timewarp_issue_list", status="fixed")
    assert closed["issues"][0]["issue_id"] == issue
    say("re-apply", f"the check passes in the present; {issue} is fixed")

    # What an agent that was misled gets.
    for tool, arguments in [
        ("timewarp_snapshot", {"include": ["*"]}),
        ("timewarp_restore", {"snapshot": "session", "paths": ["../.."]}),
        ("timewarp_status", {"dir": "/"}),
        ("timewarp_return", {"take_over": True}),
    ]:
        say("refused", f"{await refused(client, tool, **arguments)}: {tool} {arguments}")
    whole = await call(client, "timewarp_restore", snapshot="session")
    assert whole["dry_run"] and world.holds()
    say("dry run", "restoring the whole tree waits for 'confirm'")


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tw", nargs="?", default="tw")
    parser.add_argument("--revision", choices=["2025", "2026"], default="2026", help="with a handshake, or without")
    args = parser.parse_args()
    tw = shutil.which(args.tw)
    if tw is None:
        sys.exit(f"no '{args.tw}' here")
    with tempfile.TemporaryDirectory() as room:
        world = World(str(Path(tw).resolve()), room)
        world.run("git", "init", "-q", "-b", "main")
        world.program.write_text(PROGRAM)
        world.run("git", "add", ".")
        world.run("git", "-c", "user.name=You", "-c", "user.email=you@example.com", "commit", "-qm", "a shop")

        async def roots(_context):
            return types.ListRootsResult(roots=[types.Root(uri=world.repo.as_uri())])

        server = StdioServerParameters(command=world.tw, args=["mcp"], env=world.env, cwd=world.repo)
        mode = "legacy" if args.revision == "2025" else "auto"
        async with Client(server, mode=mode, list_roots_callback=roots) as client:
            await loop(client, world)


if __name__ == "__main__":
    asyncio.run(main())
