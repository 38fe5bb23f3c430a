"""The files that a host of repositories reads: valid, and in step with the code and the Makefile."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from zipfian._version import __version__

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
YAML = [
    *WORKFLOWS, *sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")),
    ROOT / ".pre-commit-config.yaml", ROOT / "mkdocs.yml", ROOT / "CITATION.cff",
]  # fmt: skip


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def steps(workflow: Any) -> Iterator[tuple[str, Any]]:
    """Every step of every job, with the job's name."""
    return ((name, step) for name, job in workflow["jobs"].items() for step in job["steps"])


@pytest.mark.parametrize("path", YAML, ids=lambda p: p.name)
def test_a_file_is_valid(path: Path) -> None:
    assert isinstance(read(path), dict)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_workflows_run_commands_of_the_makefile(path: Path) -> None:
    ran = [step["run"] for _, step in steps(read(path)) if "run" in step]
    assert ran
    assert [
        command for command in ran if command.split()[0] != "make" or command.split()[1] not in make_targets()
    ] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_workflows_may_only_read_and_use_versioned_actions_of_the_host(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in workflow["jobs"].values())
    used = [step["uses"] for _, step in steps(workflow) if "uses" in step]
    assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


def test_every_part_of_the_checks_has_a_job() -> None:
    jobs = read(ROOT / ".github" / "workflows" / "checks.yml")["jobs"]
    assert {"lint", "types", "tests", "wheel", "docs"} <= set(jobs)
    assert jobs["tests"]["strategy"]["matrix"]["python"] == supported()


def supported() -> list[str]:
    """The Pythons that the package says it supports."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", c) for c in project["classifiers"]]
    return [match[1] for match in found if match]


def test_the_readme_lists_every_extra_and_what_it_brings() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    listed = {
        row[1]: [name for name in row[2].strip().split(", ") if name]
        for row in re.finditer(
            r"^\| `([a-z]+)` \| [^|]+ \|([^|]*)\|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
        )
        if row[1] in extras
    }
    wanted = {name: [re.split("[<>=]", package)[0] for package in needs] for name, needs in extras.items()}
    del wanted["dev"]
    assert listed == wanted | {"all": []}


def test_hooks_are_our_own_tools() -> None:
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    assert [hook["id"] for hook in repository["hooks"]] == ["ruff", "ruff-format", "mypy"]
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")


def test_the_citation_is_of_this_version_and_names_the_papers() -> None:
    citation = read(ROOT / "CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == __version__
    assert citation["license"] == project["license"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]
    for reference in citation["references"]:
        assert reference["title"] and reference["type"] in ("article", "conference-paper")
        assert all(author["family-names"] and author["given-names"] for author in reference["authors"])
    titles = " ".join(reference["title"] for reference in citation["references"])
    for paper in ("Latent Terms", "Visual Words Meet BM25", "Hybrid Dense Sparse Fusion", "Scalar Quantization"):
        assert paper in titles


def test_an_issue_form_asks_for_something() -> None:
    forms = [read(p) for p in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if p.name != "config.yml"]
    assert len(forms) == 2
    for form in forms:
        assert form["name"] and form["description"]
        asked = [field for field in form["body"] if field["type"] != "markdown"]
        assert all(field["id"] and field["attributes"]["label"] for field in asked)
        assert any(field.get("validations", {}).get("required") for field in asked)
