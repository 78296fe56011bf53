"""Keeps what became of each mutant as soon as it is known, so that a campaign that was ended goes
on where it was."""

import json
import threading
import time


class Journal:
    """Lines of JSON: the commit that the programs are built from, the seconds that the campaign had
    taken by then, earlier parts of it too, and the result of a mutant.

    Results of another commit are not taken up, nor is a last line that was not written whole.
    Without a path, nothing is kept.
    """

    def __init__(self, path, built_from):
        self.path, self.built_from, self.results = path, built_from, {}
        self.lock, self.begin, self.earlier = threading.Lock(), time.monotonic(), 0.0
        text = path.read_text("utf-8") if path and path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        for line in map(json.loads, whole.splitlines()):
            if line["built_from"] == built_from:
                self.results[line["result"]["name"]] = line["result"]
                self.earlier = max(self.earlier, line["seconds"])
        if whole != text:
            path.write_text(whole, "utf-8")

    def result_of(self, name):
        """None if there is none."""
        return self.results.get(name)

    def seconds(self):
        return self.earlier + time.monotonic() - self.begin

    def add(self, result):
        if not self.path:
            return
        line = {"built_from": self.built_from, "seconds": round(self.seconds(), 1)}
        line = json.dumps(line | {"result": result})
        with self.lock, self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
