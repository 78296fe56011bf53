"""Keeps what became of each mutant as soon as it is known, so that a campaign that was ended goes
on where it was."""

import json
import threading


class Journal:
    """Lines of JSON: the commit that the programs are built from, and the result of a mutant.

    Results of another commit are not taken up, nor is a last line that was not written whole.
    Without a path, nothing is kept.
    """

    def __init__(self, path, built_from):
        self.path, self.built_from, self.results = path, built_from, {}
        self.lock = threading.Lock()
        text = path.read_text("utf-8") if path and path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        for line in map(json.loads, whole.splitlines()):
            if line["built_from"] == built_from:
                self.results[line["result"]["name"]] = line["result"]
        if whole != text:
            path.write_text(whole, "utf-8")

    def result_of(self, name):
        """None if there is none."""
        return self.results.get(name)

    def add(self, result):
        if not self.path:
            return
        line = json.dumps({"built_from": self.built_from, "result": result})
        with self.lock, self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
