"""What became of each mutant of a campaign, kept as soon as it is known."""

import json
import threading
import time


class Journal:
    """Lets a campaign that was ended go on. Each line of JSON has the commit that the programs are
    built from, the seconds that the campaign had taken by then, and a result. Results of other
    commits do not count, nor does a last line that is not whole. Without a path, nothing is kept.
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

    def seconds(self):
        return self.earlier + time.monotonic() - self.begin

    def add(self, result):
        if not self.path:
            return
        line = {"built_from": self.built_from, "seconds": round(self.seconds(), 1)}
        with self.lock, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line | {"result": result}) + "\n")
