"""The exceptions of the package."""

from __future__ import annotations


class UsageError(ValueError):
    """A filter or another argument that a program refuses."""


class EngineFailed(RuntimeError):
    """A program ended without a result; the text is what it said."""


class Unsupported(Exception):
    """Raised by a function under test for a call that it does not serve: the case is skipped, and
    counted by the reason, which should not vary with sizes."""


class Wrong(AssertionError):
    """An answer beyond the bounds; the message names the first and the worst element."""
