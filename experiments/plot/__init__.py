"""Figures of what recto's commands wrote: for `recto plot`, and for the Python package."""
