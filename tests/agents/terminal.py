"""A program in a terminal of its own, by way of tmux: typed to as a person does, and read as a person sees it."""

import shlex
import subprocess
import tempfile
import time


class Terminal:
    def __init__(self, lab, command, width=100, height=40):
        # One of its own each time: the server before it may not be gone yet.
        self.lab, self.name = lab, tempfile.mktemp(prefix="tmux-", dir=lab.top)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), shlex.join(command))

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-S", self.name, *arguments], cwd=self.lab.repo, env=self.lab.env, capture_output=True,
                              text=True, errors="replace", check=False)
        return done.stdout

    def screen(self):
        """What stands on it now."""
        return self.tmux("capture-pane", "-p", "-J")

    def settle(self, seconds=60, quiet=1.5):
        """Waits until the screen has something on it and has not changed for a while; returns it."""
        end, last, since = time.monotonic() + seconds, None, time.monotonic()
        while time.monotonic() < end:
            now = self.screen()
            if now != last:
                last, since = now, time.monotonic()
            elif now.strip() and time.monotonic() - since > quiet:
                return now
            time.sleep(0.1)
        return last or ""

    def type(self, text, *keys):
        self.tmux("send-keys", "-l", text)
        time.sleep(0.5)
        for key in keys:
            self.tmux("send-keys", key)
            time.sleep(0.3)

    def press(self, *keys):
        for key in keys:
            self.tmux("send-keys", key)
            time.sleep(0.3)

    def close(self):
        self.tmux("kill-server")
