"""Edits a copy of a subject's source, and looks for a fault in what recto says of it."""

import re
import shutil
from pathlib import Path

from packages import Refusal


def line_of(fault, text):
    """The number of the line in which fault.found_at ends."""
    if text.count(fault.found_at) != 1:
        raise Refusal(f"{fault.name}: {fault.file}: expected once, after the edit: "
                      f"{fault.found_at.strip()!r}, found {text.count(fault.found_at)} times")
    end = text.index(fault.found_at) + len(fault.found_at.rstrip())
    return text.count("\n", 0, end) + 1


def apply(edit, name, copy):
    """The text of the edited file. Messages begin with the name of whom the edit is for."""
    path = copy / edit.file
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refusal(f"{name}: {edit.file}: {error.strerror}") from error
    if text.count(edit.before) != 1:
        raise Refusal(f"{name}: {edit.file}: expected once: "
                      f"{edit.before.strip()!r}, found {text.count(edit.before)} times")
    text = text.replace(edit.before, edit.after)
    path.write_text(text, encoding="utf-8")
    return text


def plant(fault, folder, copy):
    """Copies the include folder, edits the file there. Returns the line that must be found."""
    shutil.copytree(folder, copy)
    return line_of(fault, apply(fault, fault.name, copy))


def edited(subject, folder, copy):
    """The include folder, or if the subject has edits a copy, which replaces an earlier one."""
    if not subject.edits:
        return folder
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    for edit in subject.edits:
        apply(edit, subject.name, copy)
    return copy


def finding_in(fault, line, output):
    """The finding in recto's output that names the check and the line, or None."""
    place = rf"\b{re.escape(Path(fault.file).name)}:{line}\b"  # calls have no folder
    found = re.search(rf"^.*\b{fault.check} in kernel .*{place}.*$", output, re.MULTILINE)
    return found.group(0).strip() if found else None
