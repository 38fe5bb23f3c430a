"""What the documentation site shows beside the files of `docs/`: a hook of mkdocs, named in `mkdocs.yml`.

- `reference/`: one page for every stage of the package with public names, and for what crosses all stages. The names
  come from the code, so that a new one is on the site as soon as it is public.
- The pages at the root of the repository: README, ARCHITECTURE and the rules.
- The figures and files of other folders that these pages link to.

In the repository, links work as paths. On the site a path may be another page, a file that travels along, or nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import zipfian

ROOT = Path(__file__).resolve().parent.parent
DOCS = "docs/"
ABOUT = {
    "README.md": "README",
    "ARCHITECTURE.md": "A tour of the code",
    "CONTRIBUTING.md": "Contributing",
    "SECURITY.md": "Security",
    "CHANGELOG.md": "Changes",
}
"""Pages at the root of the repository, and what the site calls them."""
WHOLE = ("errors", "types", "encode.hub", "engines.opensearch")
"""Modules on the site beside the stages: what all stages share, and two packages for users that are not stages."""
TRAVELS = frozenset({".svg", ".png", ".json", ".tsv", ".csv"})
"""Kinds of files that the site takes along where a page links to them."""

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def public_names() -> dict[str, list[str]]:
    """The public names of the package and of each of its stages, by module; a name stands where it is shown first."""
    stages = [m.name for m in pkgutil.iter_modules(zipfian.__path__, "zipfian.") if m.ispkg]
    out: dict[str, list[str]] = {}
    seen: list[object] = []
    for name in ("zipfian", *stages):
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            value = getattr(module, public)
            if not public.startswith("__") and not any(value is s for s in seen):
                seen.append(value)
                out.setdefault(name, []).append(public)
    return out


def reference_pages() -> dict[str, str]:
    """Every page of the reference, as Markdown that mkdocstrings fills in."""
    pages = {}
    for module, names in public_names().items():
        about = f"::: {module}\n    options:\n      members: false\n      show_root_heading: false\n"
        rest = "".join(f"\n::: {module}.{name}\n" for name in names)
        pages[f"reference/{module}.md"] = f"# {module}\n\n{about}{rest}"
    for name in WHOLE:
        module = f"zipfian.{name}"
        whole = f"::: {module}\n    options:\n      show_root_heading: false\n"
        pages[f"reference/{module}.md"] = f"# {module}\n\n{whole}"
    return pages


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation by what is not a file of `docs/`."""
    nav = list(config.nav or [])
    reference = [{Path(uri).stem: uri} for uri in reference_pages()]
    about = [{title: _uri(name)} for name, title in ABOUT.items()]
    config.nav = [*nav, {"Reference": reference}, {"About": about}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference, the pages of the root, and what any page links to."""
    for uri, text in reference_pages().items():
        files.append(File.generated(config, uri, content=text))
    for name in ABOUT:
        files.append(File.generated(config, _uri(name), abs_src_path=str(ROOT / name)))
    for path in sorted(linked(config)):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def linked(config: MkDocsConfig) -> set[str]:
    """Files outside `docs/` that travel along, as paths in the repository."""
    pages = [*Path(config.docs_dir).rglob("*.md"), *(ROOT / name for name in ABOUT)]
    found = {path for page in pages for path in _targets(page.relative_to(ROOT).as_posix(), page.read_text("utf-8"))}
    return {p for p in found if not p.startswith(DOCS) and Path(p).suffix in TRAVELS and (ROOT / p).is_file()}


def _uri(path: str) -> str:
    """Where the site keeps a file of the repository."""
    # by other names than at the root: to mkdocs, a README is the index of its folder
    return f"about/{path.lower()}" if path in ABOUT else path.removeprefix(DOCS)


def _target(page: str, link: str) -> str:
    """The path in the repository that a link on a page means."""
    return normpath(f"{dirname(page)}/{link}").lstrip("/")


def _targets(page: str, markdown: str) -> Iterator[str]:
    return (_target(page, match[3]) for match in _LINK.finditer(markdown))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the repository's links into the site's."""
    root = {_uri(name): name for name in ABOUT}
    path = root.get(page.file.src_uri, DOCS + page.file.src_uri)
    return site_links(path, markdown, {f.src_uri for f in files})


def site_links(path: str, markdown: str, uris: set[str]) -> str:
    """The page at `path` of the repository with links as the site needs them; one that leads nowhere loses its link."""
    here = dirname(_uri(path)) or "."

    def replaced(match: re.Match[str]) -> str:
        image, label, link, anchor = match.groups(default="")
        there = _target(path, link)
        if _uri(there) in uris:
            return f"{image}[{label}]({relpath(_uri(there), here)}{anchor})"
        return label if (ROOT / there).exists() else match[0]

    return _LINK.sub(replaced, markdown)
