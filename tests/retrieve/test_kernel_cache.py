"""Where compiled kernels are kept: a private folder, never a stale or damaged one, or none at all with a warning."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zipfian.compiled import folder

PACKAGE = Path(folder.__file__).resolve().parents[1]

# One small kernel: compiled in a fraction of a second, kept like all others.
SCRIPT = """
import warnings
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as caught:
    import numba
    before = numba.config.CACHE_DIR
    from zipfian.retrieve import kernels
    assert numba.config.CACHE_DIR == before
    {between}
    import numpy as np
    assert kernels.row_sums(np.array([0, 2, 3]), np.array([1.0, 2.0, 4.0], np.float32)).tolist() == [3.0, 4.0]
print(sum(kernels.row_sums.stats.cache_hits.values()), sum(kernels.row_sums.stats.cache_misses.values()))
for w in caught:
    if w.category is RuntimeWarning:
        print(w.message)
"""


def run(cache: Path, between: str = "pass", **settings: str) -> tuple[str, list[str]]:
    """A new process that uses one kernel -> ('hits misses', warnings)."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_") and k != folder.OVERRIDE}
    variables |= {folder.OVERRIDE: str(cache), "PYTHONPATH": str(PACKAGE.parent), **settings}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("{between}", between)], env=variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    first, *warned = done.stdout.splitlines()
    return first, warned


def files(path: Path) -> set[Path]:
    return {p for p in path.rglob("*") if p.is_file()}


def test_kept_in_the_private_folder_and_found_again(tmp_path: Path) -> None:
    def machine_code() -> set[Path]:
        return {p for p in files(PACKAGE) if p.suffix in (".nbi", ".nbc")}

    beside_the_sources = machine_code()
    assert run(tmp_path / "cache") == ("0 1", [])
    assert machine_code() == beside_the_sources
    kept = files(tmp_path / "cache")
    assert {p.suffix for p in kept} == {".nbi", ".nbc"}
    if sys.platform != "win32":
        for path in (tmp_path / "cache" / "kernels").iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert run(tmp_path / "cache") == ("1 0", [])
    assert files(tmp_path / "cache") == kept
    # other settings of the compiler: another folder
    assert run(tmp_path / "cache", NUMBA_OPT="1") == ("0 1", [])
    assert len(list((tmp_path / "cache" / "kernels").iterdir())) == 2


def test_without_a_usable_folder_kernels_still_work(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a folder")
    hits, warned = run(tmp_path / "cache")
    assert hits == "0 1"
    assert len(warned) == 1
    assert "compiled anew in this process" in warned[0]
    assert folder.OVERRIDE in warned[0]


@pytest.mark.parametrize(("suffix", "damage"), [(".nbi", b""), (".nbi", b"\x80\x04garbage"), (".nbc", None)])
def test_a_damaged_file_costs_a_compilation(tmp_path: Path, suffix: str, damage: bytes | None) -> None:
    cache = tmp_path / "cache"
    assert run(cache)[0] == "0 1"
    for path in files(cache):
        if path.suffix == suffix:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if damage is None else damage)
    hits, warned = run(cache)
    assert hits == "0 1"
    assert all("row_sums" in line and "compiled anew" in line for line in warned)
    assert run(cache) == ("1 0", [])


def test_a_folder_lost_after_the_import(tmp_path: Path) -> None:
    """As with a full disk: keeping the machine code fails, the search does not."""
    gone = "import shutil; shutil.rmtree(kernels.jit.FOLDER); open(kernels.jit.FOLDER, 'w').close()"
    hits, warned = run(tmp_path / "cache", gone)
    assert hits == "0 1"
    assert "could not be written" in warned[-1]


def test_the_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(folder.OVERRIDE, str(tmp_path / "mine"))
    assert folder.root() == tmp_path / "mine"
    monkeypatch.delenv(folder.OVERRIDE)
    if sys.platform == "win32":
        return
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert folder.root() == tmp_path / "xdg" / "zipfian"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, by the standard
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder.root() == tmp_path / ".cache" / "zipfian"


def test_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv(folder.OVERRIDE, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(folder, "_home", homeless)
    with pytest.raises(folder.Unusable, match="no home"):
        folder.prepare("x")


@pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are POSIX")
class TestPrivacy:
    @pytest.fixture
    def root(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
        monkeypatch.setenv(folder.OVERRIDE, str(tmp_path / "root"))
        return tmp_path / "root"

    def test_made_private(self, root: Path) -> None:
        made = folder.prepare("abc")
        assert made == root / "kernels" / "abc"
        assert stat.S_IMODE(made.stat().st_mode) == stat.S_IMODE(made.parent.stat().st_mode) == 0o700
        assert folder.prepare("abc") == made

    @pytest.mark.parametrize("name", ["kernels", "kernels/abc"])
    @pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
    def test_writable_by_others(self, root: Path, name: str, mode: int) -> None:
        folder.prepare("abc")
        (root / name).chmod(mode)
        with pytest.raises(folder.Unusable, match="written by other users"):
            folder.prepare("abc")

    def test_a_root_that_everybody_may_write(self, root: Path) -> None:
        root.mkdir()
        root.chmod(0o777)
        with pytest.raises(folder.Unusable, match="written by other users"):
            folder.prepare("abc")
        root.chmod(0o1777)  # sticky, like the system's folder for temporary files
        folder.prepare("abc")

    def test_another_owner(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.prepare("abc")
        mine = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
        with pytest.raises(folder.Unusable, match="belongs to another user"):
            folder.prepare("abc")

    def test_a_link(self, root: Path, tmp_path: Path) -> None:
        (root / "kernels").mkdir(parents=True, mode=0o700)
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        (root / "kernels" / "abc").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(folder.Unusable, match="symbolic link"):
            folder.prepare("abc")

    @pytest.mark.parametrize("mode", [0o777, 0o770, 0o775, 0o702])
    @pytest.mark.parametrize("above", [0, 1, 2])
    def test_a_folder_on_the_way_that_others_may_write(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, above: int, mode: int
    ) -> None:
        deep = tmp_path / "a" / "b" / "root"
        monkeypatch.setenv(folder.OVERRIDE, str(deep))
        folder.prepare("abc")
        shared = (deep, *deep.parents)[above]
        shared.chmod(mode)
        with pytest.raises(folder.Unusable, match=f"{shared.name} can be written by other users"):
            folder.prepare("abc")
        shared.chmod(mode | stat.S_ISVTX)
        folder.prepare("abc")

    def test_what_is_made_on_the_way_is_private_whatever_the_umask(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv(folder.OVERRIDE, str(tmp_path / "a" / "root"))
        before = os.umask(0)
        try:
            folder.prepare("abc")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700

    def test_a_link_of_ours_is_followed_and_its_target_checked(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "real").mkdir(mode=0o700)
        (tmp_path / "link").symlink_to(tmp_path / "real")
        monkeypatch.setenv(folder.OVERRIDE, str(tmp_path / "link" / "root"))
        assert folder.prepare("abc") == tmp_path / "real" / "root" / "kernels" / "abc"
        (tmp_path / "real").chmod(0o770)
        with pytest.raises(folder.Unusable, match="real can be written by other users"):
            folder.prepare("abc")

    @pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root can give a file away")
    @pytest.mark.parametrize("whose", ["folder", "link"])
    def test_something_of_another_user_on_the_way(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whose: str
    ) -> None:
        (tmp_path / "real").mkdir(mode=0o700)
        (tmp_path / "link").symlink_to(tmp_path / "real")
        given = tmp_path / ("real" if whose == "folder" else "link")
        os.chown(given, 12345, 12345, follow_symlinks=False)
        monkeypatch.setenv(folder.OVERRIDE, str(tmp_path / "link" / "root"))
        with pytest.raises(folder.Unusable, match="another user"):
            folder.prepare("abc")


def test_the_fingerprint_follows_all_that_machine_code_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text("x = 1")
    b.write_text("y = 1")

    def now(*versions: str) -> str:
        return folder.fingerprint([a, b], versions or ("1",))

    first = now()
    assert now() == first
    seen = {first, now("2"), now("1", "")}
    b.write_text("y = 2")
    seen.add(now())
    os.utime(b, (0, 0))
    assert now() in seen  # the text counts, not its date
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    seen.add(now())
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert now() in seen
    assert len(seen) == 5
    b.unlink()
    with pytest.raises(folder.Unusable, match="cannot be read"):
        now()


def test_every_kernel_source_is_in_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    from zipfian.compiled.jit import Compiler
    from zipfian.retrieve.kernels import jit

    asked: list[Any] = []

    def note(sources: Any, versions: Any) -> str:
        asked.extend(sources)
        raise folder.Unusable("only looking")

    monkeypatch.setattr(folder, "fingerprint", note)
    with pytest.warns(RuntimeWarning, match="only looking"):
        assert Compiler(jit.SOURCES, "search kernels").folder is None
    names = {p.name for p in asked}
    assert {p.name for p in (PACKAGE / "retrieve" / "kernels").glob("*.py")} <= names
    assert {"layout.py", "_decode.py"} <= names
    assert all(p.is_file() for p in asked)
