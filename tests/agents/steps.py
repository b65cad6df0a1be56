"""What each agent is taken through, in order. A step returns what it found out, or raises `Failed`."""

import json
import os
import re

from lab import need
from model import NOTE, script_of

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def spoken(entries):
    """The conversation among entries: without what the agent says of itself and its surroundings."""
    kept = []
    for entry in entries:
        if entry.kind == "system":
            continue
        if entry.kind == "user" and not script_of(entry):
            continue
        kept.append(tuple(without_reminders(part) for part in entry) if entry.kind == "user" else tuple(entry))
    return kept


def without_reminders(text):
    """A prompt without what some agents put in front of it: its surroundings, and what day it is."""
    return re.sub(r"<system-reminder>.*?</system-reminder>\s*", "", text, flags=re.DOTALL)


def before(request):
    """The conversation that stands in a request before its last prompt; results that stand there twice, once.

    Gemini CLI shows results of its own sessions once more with each resume.
    """
    entries = spoken(request.entries)
    last = max(nth for nth, entry in enumerate(entries) if entry[0] == "user")
    kept, results = [], set()
    for entry in entries[:last]:
        if entry[0] != "result":
            results = set()
        elif entry in results:
            continue
        else:
            results.add(entry)
        kept.append(entry)
    return kept


def same(found, wanted, what):
    """That two conversations are the same, entry by entry."""
    for nth, (one, other) in enumerate(zip(found, wanted)):
        need(one == other, f"{what}: entry {nth} is {str(one)[:300]}, was {str(other)[:300]}")
    need(len(found) == len(wanted), f"{what}: {len(found)} entries, were {len(wanted)}")


def notes(request, text):
    """How often a note stands in what the model was shown."""
    return json.dumps(request.body).count(text)


def settings(lab):
    """The files of home and repository that settings are in: everything but the sessions."""
    found = {}
    for top in (lab.home, lab.repo):
        for at, dirs, names in os.walk(top):
            dirs[:] = [name for name in dirs if name != ".git"]
            for name in names:
                path = os.path.join(at, name)
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found


class Steps:
    def __init__(self, lab):
        self.lab = lab
        self.agent = lab.agent
        self.kept = {}

    def init(self):
        """The program is found; `tw init --agent` is accepted, a second one changes nothing."""
        self.settings = settings(self.lab)
        used = self.lab.tw("init", "--agent", "all", *self.agent.scope, "--dry-run")["agents"]
        found = [path for agent in used if agent["name"] == self.agent.name for path in agent["found"]]
        need(any(not path.startswith(self.lab.home) for path in found), f"its program was not found: {found}")
        self.lab.tw("init", "--agent", self.agent.name, *self.agent.scope)
        first = settings(self.lab)
        self.lab.tw("init", "--agent", self.agent.name, *self.agent.scope)
        need(settings(self.lab) == first, "a second init changed something")
        self.written = {path for path in first if first[path] != self.settings.get(path)}

    def hooks(self):
        """Three prompts with tool calls; each makes a checkpoint before the agent acts."""
        lab = self.lab
        lab.ask(f"p1 use {SECRET} [[run: echo one > one.txt]] [[write: two.txt = two]] [[say: did one]]")
        need({"one.txt", "two.txt"} <= lab.files(), f"the agent wrote {lab.files()}")
        listed = lab.tw("session", "list")["sessions"]
        need(listed, "no session was recorded")
        self.session = listed[0]["session_id"]
        self.kept[1] = lab.ask("p2 [[run: echo a > a.txt]]&[[run: echo b > b.txt]] [[say: did two]]", self.session)
        self.kept[2] = lab.ask("p3 [[run: echo three > three.txt]] [[run: echo four > four.txt]] [[say: did three]]", self.session)
        need({"a.txt", "b.txt", "three.txt", "four.txt"} <= lab.files(), f"the agent wrote {lab.files()}")

    def checkpoints(self):
        """One for each prompt, with the files as they were before it."""
        lab = self.lab
        points = lab.tw("checkpoint", "list", "--session", self.session)["checkpoints"]
        need([point["prompt"].lstrip('"')[:2] for point in points] == ["p1", "p2", "p3"], f"checkpoints: {[p['prompt'] for p in points]}")
        need(SECRET not in json.dumps(points), "a secret stands in a checkpoint")
        for nth, there in enumerate([set(), {"one.txt", "two.txt"}, {"one.txt", "two.txt", "a.txt", "b.txt"}]):
            tree = lab.run(["git", "ls-tree", "--name-only", self.commit(points[nth]["snapshot_id"])]).stdout.split()
            found = {name for name in tree if name.endswith(".txt")}
            need(found == there, f"checkpoint {nth} has {found}, not {there}")

    def turns(self):
        """What the agent left at the end of each turn is a snapshot, taken before anybody else could edit."""
        lab = self.lab
        shown = [lab.tw("show", row["snapshot_id"])["snapshot"] for row in lab.tw("list")["snapshots"]]
        ends = {one["title"]: one["snapshot_id"] for one in shown if one["trigger"] == "turn-end"}
        expected = {f"end of turn, after checkpoint {nth}" for nth in range(3)}
        need(set(ends) == expected, f"ends of turns: {sorted(ends)}")
        first = ends["end of turn, after checkpoint 0"]
        tree = lab.run(["git", "ls-tree", "--name-only", self.commit(first)]).stdout.split()
        need("one.txt" in tree and "a.txt" not in tree, f"the first turn ended with {tree}")
        noted = lab.tw("checkpoint", "list", "--session", self.session)["turn_ends"]
        need([end["checkpoint_id"] for end in noted] == [0, 1, 2], f"ends were noted after checkpoints {[e['checkpoint_id'] for e in noted]}")

    def commit(self, snapshot):
        refs = self.lab.run(["git", "for-each-ref", "--format=%(refname)", "refs/timewarp"]).stdout.split()
        found = [ref for ref in refs if ref.endswith(snapshot)]
        need(found, f"no ref for {snapshot}")
        return found[0]

    def attempts(self):
        """`tw try ISSUE --agent` has it work on an issue, twice at a time, each in a scratch, without a terminal."""
        lab = self.lab
        there = lab.files()
        issue = lab.tw("issue", "report", "--task-context", "trying", "--success-criteria", "the file is there", "--verify", "test -e fixed",
                       "--symptom", "a file is missing [[run: echo it > fixed]] [[say: it is there]]")["issue_id"]
        flags = [f"--agent-args={word}" for word in [*self.agent.allow, *self.agent.alone]]
        tried = lab.tw("try", issue, "-n", "2", "--timeout", "2m", "--agent", self.agent.name, *flags, check=False)
        found = [(run["status"], run["error"]) for run in tried.get("runs", [])]
        need([status for status, _ in found] == ["passed", "passed"], f"the runs: {found}, {tried.get('error')}")
        need(lab.files() == there, f"the present has {lab.files() - there}")
        lab.tw("issue", "close", issue, "--proof", "latest")

    def mcp(self):
        """The agent calls a tool of tw's server."""
        made = self.lab.ask("p4 [[mcp: timewarp_status {}]] [[say: did four]]", self.session)
        self.kept[3] = made
        results = [entry[1] for entry in made[-1].entries if entry.kind == "result"]
        need("workspace_root" in results[-1], f"the tool answered {results[-1][:300]}")

    def rewind(self):
        """To before the second prompt: the files as they were, a fork, and the original untouched."""
        lab = self.lab
        sessions = lab.digest(self.agent.transcripts(lab))
        done = lab.tw("rewind", f"{self.session}:1", "--both", "--note", "beware of the first way")
        need(lab.files() == {"one.txt", "two.txt"}, f"files after the rewind: {lab.files()}")
        after = lab.digest(self.agent.transcripts(lab))
        changed = [path for path in sessions if after.get(path) != sessions[path]]
        need(not changed, f"the rewind changed {changed}")
        self.talk = done["conversation"]
        need(self.talk["fork"]["session_id"], "no fork")
        self.fork_id = self.talk["fork"]["session_id"]

    def fork(self):
        """The agent resumes the fork, and shows the model exactly what it had shown before the rewound prompt."""
        note = "" if self.talk["note"]["delivery"] != "prompt" else self.talk["note"]["text"] + "\n"
        self.resumed = self.lab.ask(note + "p5 [[run: echo five > five.txt]] [[say: did five]]", self.fork_id)
        same(before(self.resumed[0]), before(self.kept[1][0]), "the fork")

    def note(self):
        """The note reaches the model once, handed over or pasted, and does not come again."""
        text = "beware of the first way"
        need(notes(self.resumed[0], text) == 1, f"the note stands {notes(self.resumed[0], text)} times in the first request")
        again = self.lab.ask("p6 [[say: did six]]", self.fork_id)
        need(notes(again[-1], text) <= 1, f"the note stands {notes(again[-1], text)} times in the second")
        delivery = self.talk["note"]["delivery"]
        need((delivery != "prompt") == (self.agent.note == "hook"), f"the note was delivered by {delivery}")
        return "handed over" if delivery != "prompt" else "pasted"

    def points(self):
        """What the fork is asked is the fork's: checkpoints of its own, none more in the original."""
        own = self.lab.tw("checkpoint", "list", "--session", self.fork_id)["checkpoints"]
        need(any("p5" in point["prompt"] for point in own), f"checkpoints of the fork: {[p['prompt'][:20] for p in own]}")
        old = self.lab.tw("checkpoint", "list", "--session", self.session)["checkpoints"]
        need(not any("p5" in point["prompt"] for point in old), "the fork's prompt stands in the original's checkpoints")

    def original(self):
        """The original is resumed as it was."""
        was = before(self.kept[2][0])
        made = self.lab.ask("p7 [[say: did seven]]", self.session)
        same(before(made[0])[: len(was)], was, "the original")
        need("did three" in str(made[0].entries), "the original has lost its end")

    def again(self):
        """A fork of the fork, and one of a session that the agent itself forked."""
        lab = self.lab
        own = lab.tw("checkpoint", "list", "--session", self.fork_id)["checkpoints"]
        number = max(point["checkpoint_id"] for point in own if "p5" in point["prompt"])
        done = lab.tw("rewind", f"{self.fork_id}:{number}", "--conversation")
        made = lab.ask("p8 [[say: did eight]]", done["conversation"]["fork"]["session_id"])
        same(before(made[0]), before(self.resumed[0]), "the fork of the fork")
        own = self.agent.fork_itself(lab, self.session)
        if not own:
            return None
        lab.ask("p17 [[say: did seventeen]]", own)
        kept = lab.ask("p18 [[say: did eighteen]]", own)
        points = lab.tw("checkpoint", "list", "--session", own)["checkpoints"]
        number = next(point["checkpoint_id"] for point in points if "p18" in point["prompt"])
        done = lab.tw("rewind", f"{own}:{number}", "--conversation")
        made = lab.ask("p19 [[say: did nineteen]]", done["conversation"]["fork"]["session_id"])
        same(before(made[0]), before(kept[0]), "the fork of the agent's own fork")
        need("p1 " in str(before(made[0])), "the agent's own fork lacks its beginning")
        return "its own fork, too"

    def every(self):
        """Forks at each later prompt are resumed with exactly what was before it."""
        lab = self.lab
        self.kept[4] = lab.ask("p11 [[run: echo x > x.txt]] [[say: did eleven]]", self.session)
        points = lab.tw("checkpoint", "list", "--session", self.session)["checkpoints"]
        for point in points[2:]:
            prompt = re.search(r"p\d+", point["prompt"]).group()
            kept = next((made for made in self.kept.values() if f"{prompt} [[" in str(spoken(made[0].entries)[-1])), None)
            if not kept:
                continue
            done = lab.tw("rewind", f"{self.session}:{point['checkpoint_id']}", "--conversation")
            made = lab.ask("p12 [[say: did twelve]]", done["conversation"]["fork"]["session_id"])
            same(before(made[0]), before(kept[0]), f"the fork before {prompt}")

    def terminal(self):
        """The command that tw prints, in a terminal: the fork is resumed there with the same conversation, and the note."""
        lab = self.lab
        done = lab.tw("rewind", f"{self.session}:1", "--conversation", "--note", "seen in the terminal")
        command = done["conversation"]["resume_argv"]
        made = lab.ask_in_terminal([*command, *self.agent.allow], "p13 [[say: did thirteen]]", "fork")
        same(before(made[0]), before(self.kept[1][0]), "the fork in the terminal")
        if self.agent.note == "hook":
            need(notes(made[0], "seen in the terminal") == 1, "the note did not reach the model in the terminal")
        made = lab.ask_in_terminal([self.agent.program, *self.agent.allow], "p14 [[run: echo six > six.txt]] [[say: did fourteen]]", "start")
        points = [point["prompt"] for one in lab.tw("session", "list")["sessions"]
                  for point in lab.tw("checkpoint", "list", "--session", one["session_id"])["checkpoints"]]
        need(any(self.agent.typed("p14", prompt or "") for prompt in points), f"no checkpoint of what was typed in the terminal: {points}")

    def modes(self):
        """The files alone, and that taken back."""
        lab = self.lab
        was = lab.files()
        lab.tw("rewind", f"{self.session}:1", "--code")
        need(lab.files() == {"one.txt", "two.txt"}, f"files after --code: {lab.files()}")
        lab.tw("rewind", "--undo", "--session", self.session)
        need(lab.files() == was, f"files after --undo: {lab.files()}, were {was}")

    def itself(self):
        """An agent rewinds itself over MCP; what it forks ends before the prompt that it was asked."""
        lab = self.lab
        number = len(lab.tw("checkpoint", "list", "--session", self.session)["checkpoints"]) - 1
        call = {"checkpoint": f"{self.session}:{number}", "conversation": True, "confirm": True, "note": "from within"}
        made = lab.ask(f"p9 [[mcp: timewarp_rewind {json.dumps(call)}]] [[say: did nine]]", self.session)
        result = [entry[1] for entry in made[-1].entries if entry.kind == "result"][-1]
        found = re.search(r'resume_argv\\*":\s*\[(.*?)\]', result)
        need(found, f"the tool answered {result[:400]}")
        forked = max(lab.tw("session", "list")["sessions"], key=lambda it: it["started_at"])
        ids = re.findall(r'session_id\\*":\s*\\*"([^"\\]+)', result)
        fork = next(name for name in ids if name != self.session)
        asked = lab.ask("p10 [[say: did ten]]", fork)
        need(before(asked[0]), f"the fork {fork} is empty ({forked['session_id']})")

    def report(self):
        """A report has the conversation, without the secret."""
        lab = self.lab
        done = lab.tw("issue", "report", "--session", self.session, "--task-context", "writing files", "--symptom",
                      f"it went astray with {SECRET}", "--success-criteria", "it does not", check=False)
        need("issue_id" in done, f"report: {done.get('error')}")
        chat = lab.run(["tw", "issue", "chat", done["issue_id"]]).stdout
        need("did three" in chat and "three.txt" in chat, f"the chat has no conversation: {chat[:300]}")
        need(SECRET not in chat, "the secret stands in the report")

    def remove(self):
        """`tw init --remove` leaves every byte of the settings as it was."""
        self.lab.tw("init", "--agent", self.agent.name, *self.agent.scope, "--remove")
        now = settings(self.lab)
        left = [path for path in self.written if now.get(path) != self.settings.get(path)]
        return f"the agent rewrote {left}" if left else None


# In order. Where one fails, those that build on it are not tried.
ORDER = ["init", "hooks", "checkpoints", "turns", "attempts", "mcp", "rewind", "fork", "note", "points", "original", "again", "every", "terminal", "modes", "itself", "report", "remove"]
NEEDS = {
    "hooks": ["init"], "checkpoints": ["hooks"], "turns": ["hooks"], "mcp": ["hooks"], "rewind": ["checkpoints"], "fork": ["rewind"],
    "note": ["fork"], "points": ["fork"], "original": ["hooks"], "again": ["fork"], "every": ["fork"], "terminal": ["fork"], "modes": ["rewind"], "itself": ["mcp", "rewind"], "report": ["hooks"],
    "remove": ["init"],
}
