"""What documents presuppose, what takes long, and what is not run: lists of `a | b | c` lines."""

from dataclasses import dataclass, field
from pathlib import Path


class BadList(Exception):
    """A line of a list that cannot be read, with its file and number."""


@dataclass
class Entry:
    where: str
    document: str
    subject: str  # a command, or a file
    text: str  # why, or how it is made
    is_used: bool = False


@dataclass
class EntryList:
    entries: list[Entry] = field(default_factory=list)

    @staticmethod
    def read(path: Path) -> "EntryList":
        made = EntryList()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 3 or not all(parts):
                raise BadList(f"{path.name}:{number}: expected DOCUMENT | WHAT | TEXT")
            made.entries.append(Entry(f"{path.name}:{number}", *parts))
        return made

    def find(self, document: str, command: str) -> Entry | None:
        """The entry of a command, which is marked as used. An entry that ends in * matches by
        prefix."""
        for entry in self.entries:
            fits = command == entry.subject or (
                entry.subject.endswith("*") and command.startswith(entry.subject[:-1])
            )
            if entry.document == document and fits:
                entry.is_used = True
                return entry
        return None

    def of(self, document: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.document == document]

    def unused(self) -> list[str]:
        return [
            f"{entry.where}: {entry.document}: {entry.subject}: stands in the document no longer"
            for entry in self.entries
            if not entry.is_used
        ]
