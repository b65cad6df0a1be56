"""A scratch home, a repository and the scripted model, in which one agent is driven."""

import hashlib
import json
import os
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time

from model import Model
from terminal import Terminal


# `tw` as the agents find it: it notes how long each hook takes.
TIMED = """#!/bin/bash
if [ "$1" != hook ]; then exec {tw} "$@"; fi
began=${{EPOCHREALTIME/./}}
{tw} "$@"
code=$?
echo "$3 $((${{EPOCHREALTIME/./}} - began))" >>{times}
exit $code
"""


class Failed(Exception):
    """A step that did not do what it has to: what was seen."""


def need(holds, what):
    if not holds:
        raise Failed(what)


class Lab:
    def __init__(self, agent, binaries, tw, root):
        self.agent = agent
        self.top = tempfile.mkdtemp(prefix=f"{agent.name}-", dir=root)
        self.home, self.repo = f"{self.top}/home", f"{self.top}/home/work"
        os.makedirs(self.repo)
        os.makedirs(f"{self.top}/bin")
        self.hook_times = f"{self.top}/hook-times"
        with open(f"{self.top}/bin/tw", "w", encoding="utf-8") as file:
            file.write(TIMED.format(tw=shlex.quote(tw), times=shlex.quote(self.hook_times)))
        os.chmod(f"{self.top}/bin/tw", 0o755)
        self.model = Model(self.repo)
        self.env = {
            "HOME": self.home, "PATH": ":".join([f"{self.top}/bin", *binaries, "/usr/local/bin:/usr/bin:/bin"]),
            "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "TMPDIR": self.top,
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        self.log = open(f"{self.top}/log", "w", encoding="utf-8")
        for command in (["init", "-q", "-b", "main"], ["config", "user.name", "P"], ["config", "user.email", "p@example.com"]):
            self.run(["git", *command])
        self.put("README", "a project\n")
        self.run(["git", "add", "."])
        self.run(["git", "commit", "-qm", "first"])
        self.env.update(agent.configure(self))

    def close(self, keep):
        self.log.close()
        with open(f"{self.top}/requests.json", "w", encoding="utf-8") as file:
            json.dump([[request.interface, request.body] for request in self.model.requests], file, indent=1)
        if not keep:
            shutil.rmtree(self.top, ignore_errors=True)

    def times(self):
        """How long its hooks took: {event: (calls, median in milliseconds)}."""
        taken = {}
        if os.path.exists(self.hook_times):
            for line in open(self.hook_times, encoding="utf-8"):
                event, microseconds = line.split()
                taken.setdefault(event, []).append(int(microseconds) / 1000)
        return {event: (len(all), statistics.median(all)) for event, all in taken.items()}

    def put(self, path, text):
        with open(f"{self.repo}/{path}", "w", encoding="utf-8") as file:
            file.write(text)

    def files(self):
        """The files of the working tree, but for git's and the settings of agents."""
        return {name for name in os.listdir(self.repo) if not name.startswith(".") and name not in ("README", "opencode.json")}

    def run(self, command, check=True, timeout=180):
        done = subprocess.run(command, cwd=self.repo, env=self.env, capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, errors="replace")
        self.log.write(f"$ {command}\n-> {done.returncode}\n{done.stdout}\n{done.stderr}\n")
        self.log.flush()
        if check and done.returncode:
            raise Failed(f"{' '.join(command)[:200]}: exit {done.returncode}: {(done.stderr or done.stdout)[-600:]}")
        return done

    def tw(self, *arguments, check=True):
        """The document that tw answers."""
        done = self.run(["tw", *arguments, "--json"], check=False)
        document = json.loads(done.stdout or "{}")
        if check and done.returncode:
            raise Failed(f"tw {' '.join(arguments)}: {document.get('error') or done.stderr}")
        return document

    def ask(self, prompt, session=None):
        """Asks the agent, and returns the requests that the model got for it."""
        if session:
            self.agent.adopt(self, session)
        before = len(self.model.turns())
        self.run(self.agent.ask(prompt, session))
        made = self.model.turns()[before:]
        need(made, f"the model was not asked for {prompt!r}")
        missing = [request for request in made if "NO TOOL" in str(request.entries)]
        need(not missing, f"no tool for a step of {prompt!r}")
        return made

    def ask_in_terminal(self, command, prompt, about):
        """Starts the agent in a terminal, answers what it asks first, types a prompt, and returns the requests for it."""
        before = len(self.model.turns())
        terminal = Terminal(self, command)
        try:
            seen = [terminal.settle()]
            for asked, keys in self.agent.questions:
                if asked in seen[-1]:
                    terminal.press(*keys)
                    seen.append(terminal.settle())
            end = time.monotonic() + 60
            while self.agent.ready not in seen[-1] and time.monotonic() < end:
                seen.append(terminal.settle())
            terminal.type(prompt, "Enter")
            end = time.monotonic() + 60
            while len(self.model.turns()) == before and time.monotonic() < end:
                time.sleep(0.2)
            seen.append(terminal.settle())
        finally:
            with open(f"{self.top}/screens-{about}", "w", encoding="utf-8") as file:
                file.write(("\n" + "=" * 100 + "\n").join(seen))
            terminal.close()
        made = self.model.turns()[before:]
        need(made, f"the model was not asked for {prompt!r} in the terminal; it shows {seen[-1].strip()[-400:]!r}")
        return made

    def digest(self, directories):
        """Every file beneath these directories with its bytes' digest."""
        found = {}
        for top in directories:
            for at, below, names in os.walk(top):
                below[:] = [name for name in below if not name.startswith(".")]
                for name in names:
                    path = os.path.join(at, name)
                    with open(path, "rb") as file:
                        found[path] = hashlib.sha256(file.read()).hexdigest()
        return found
