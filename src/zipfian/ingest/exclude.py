"""Files and folders that are left out of a source by their names."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from zipfian.errors import InvalidInput, shown

DEFAULT_EXCLUDES = (
    ".*", "node_modules", "bower_components", "__pycache__", "site-packages", "*.egg-info", "*.dist-info", "~$*",
)  # fmt: skip
"""What nobody means who names a folder: hidden entries, packages that were installed, what programs leave behind."""


def patterns_of(exclude: Iterable[str] | str, default_excludes: bool) -> tuple[str, ...]:
    """What is left out, the given patterns first; an error for one that could match nothing."""
    given = [exclude] if isinstance(exclude, str) else list(exclude)
    for pattern in given:
        if not isinstance(pattern, str) or not pattern.strip("/"):
            raise InvalidInput(
                f"exclude (--exclude) takes patterns such as '*.log' or 'drafts/*', not {shown(pattern)}"
            )
    return (*(pattern.strip("/") for pattern in given), *(DEFAULT_EXCLUDES if default_excludes else ()))


def excluded_by(patterns: Iterable[str], path: str) -> str | None:
    """The pattern that leaves out what lies at `path` below the source; one with a slash is about the whole path.

    >>> excluded_by(["*.log", "drafts/*"], "old/a.log"), excluded_by(["drafts/*"], "drafts/b.md")
    ('*.log', 'drafts/*')
    """
    name = path.rpartition("/")[2]
    return next((p for p in patterns if fnmatchcase(path if "/" in p else name, p)), None)
