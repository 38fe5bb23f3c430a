"""A real OpenSearch cluster on loopback: one JVM per node, so that a single node can be killed.

The server comes from Maven artifacts (`pom.xml`), fetched once and kept in the user's cache folder; `LoopbackNode.java`
starts one node of it. `python -m tests.cluster.server` brings a cluster up, says where it is, and stops it on Enter.
"""

from __future__ import annotations

import argparse
import atexit
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCES = ("pom.xml", "LoopbackNode.java", "log4j2.properties")
START_S = 120.0
STOP_S = 20.0


def cache() -> Path:
    """The user's cache folder for zipfian; said again here so that a broken checkout can still start a server."""
    chosen, xdg = os.environ.get("ZIPFIAN_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME", "")
    if chosen:
        return Path(chosen).expanduser()
    return (Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache") / "zipfian"


def missing() -> str:
    """Why no cluster can be started here, or nothing."""
    absent = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    return f"{', '.join(absent)} not found: install a JDK (11 or newer) and Maven" if absent else ""


def installation() -> Path:
    """The folder with the server's jars and our launcher, made on first use."""
    digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in SOURCES)).hexdigest()[:16]
    ready = cache() / "opensearch" / digest
    if ready.is_dir():
        return ready
    ready.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=ready.parent, prefix="part-"))
    try:
        for name in SOURCES:
            shutil.copy(HERE / name, part / name)
        copy = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime"]
        _run([*copy, f"-DoutputDirectory={part / 'lib'}"], part)
        _run(["javac", "-cp", str(part / "lib" / "*"), "-d", str(part / "classes"), "LoopbackNode.java"], part)
        shutil.copy(part / "log4j2.properties", part / "classes")
        try:
            part.rename(ready)
        except OSError:  # another run was faster
            if not ready.is_dir():
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return ready


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{(done.stdout + done.stderr)[-3000:]}")


def free_ports(n: int) -> list[int]:
    """Ports nobody listens on now; all are held at once, so they differ."""
    held = [socket.socket() for _ in range(n)]
    try:
        for s in held:
            s.bind(("127.0.0.1", 0))
        return [int(s.getsockname()[1]) for s in held]
    finally:
        for s in held:
            s.close()


class Server:
    """One node: its settings stay the same over restarts, and so do its data."""

    def __init__(self, folder: Path, settings: dict[str, Any], heap: str, quick: bool) -> None:
        self.folder = folder
        self.port = int(settings["http.port"])
        self.log = folder / "log.txt"
        self._heap = heap
        self._quick = quick
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True)
        (folder / "node.json").write_text(json.dumps(settings))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("the node is not running")
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        base = installation()
        # compiling with the first tier only halves the work of a short-lived JVM; measurements turn that off
        tier = ["-XX:TieredStopAtLevel=1"] if self._quick else []
        command = ["java", f"-Xms{self._heap}", f"-Xmx{self._heap}", "-XX:+UseSerialGC", "-XX:-UsePerfData", *tier]
        command += ["-Dlog4j2.disableJmx=true", "-Dio.netty.allocator.numDirectArenas=0"]
        command += ["-cp", f"{base / 'classes'}{os.pathsep}{base / 'lib' / '*'}", "LoopbackNode"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self.folder / "node.json")],
                stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def kill(self) -> None:
        """As a power cut would: SIGKILL, nothing is flushed."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def stop(self) -> None:
        """Ask it to go by ending its standard input; after a while, kill it."""
        if self._process is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""


class Cluster:
    """Some nodes with one name. A context manager; also stopped when Python exits, and by the end of Python itself."""

    def __init__(self, nodes: int = 3, heap: str = "512m", quick: bool = True, folder: Path | None = None) -> None:
        self._own = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="zipfian-cluster-"))
        ports = free_ports(2 * nodes)
        names = [f"node-{i + 1}" for i in range(nodes)]
        common: dict[str, Any] = {
            "cluster.name": f"zipfian-{ports[0]}",
            "network.host": "127.0.0.1",
            "discovery.seed_hosts": [f"127.0.0.1:{p}" for p in ports[nodes:]],
            "cluster.initial_cluster_manager_nodes": names,
            # a test machine's disk may well be fuller than a server's ought to be; one test lowers the marks on purpose
            "cluster.routing.allocation.disk.watermark.low": "99%",
            "cluster.routing.allocation.disk.watermark.high": "99%",
            "cluster.routing.allocation.disk.watermark.flood_stage": "99.9%",
            "cluster.info.update.interval": "10s",
        }
        self.nodes = [
            Server(
                self.folder / name,
                {
                    **common, "node.name": name, "http.port": ports[i], "transport.port": ports[nodes + i],
                    "path.home": str(self.folder / name), "path.data": str(self.folder / name / "data"),
                },
                heap, quick,
            )
            for i, name in enumerate(names)
        ]  # fmt: skip
        self.start_s = 0.0

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    @property
    def hosts(self) -> str:
        """`host:port,host:port`, as they stand in a collection's URL."""
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def start(self) -> Cluster:
        if problem := missing():
            raise RuntimeError(problem)
        began = time.monotonic()
        atexit.register(self.stop)
        try:
            for node in self.nodes:
                node.start()
            self.wait("green")
        except BaseException:
            self.stop()
            raise
        self.start_s = time.monotonic() - began
        return self

    def wait(self, status: str = "green", nodes: int | None = None, timeout: float = START_S) -> dict[str, Any]:
        """Until the cluster has so many nodes (default: all) and this status; returns its health."""
        wanted = len(self.nodes) if nodes is None else nodes
        deadline = time.monotonic() + timeout
        found: Any = None
        while time.monotonic() < deadline:
            alive = [node for node in self.nodes if node.alive]
            if len(alive) < wanted:
                dead = [node for node in self.nodes if not node.alive]
                raise RuntimeError(f"a node ended by itself:\n{dead[0].tail()}")
            try:
                asked = f"/_cluster/health?wait_for_status={status}&wait_for_nodes={wanted}&timeout=5s"
                found = self.get(asked, alive[0])
                if not found["timed_out"] and found["number_of_nodes"] == wanted:
                    return dict(found)
            except urllib.error.HTTPError as e:
                found = e
                if e.code != 408:  # 408: not yet, and it has waited itself
                    time.sleep(0.25)
            except OSError as e:
                found = e
                time.sleep(0.25)
        raise TimeoutError(f"not {status} after {timeout:.0f} s: {found}\n{self.nodes[0].tail()}")

    def get(self, path: str, node: Server | None = None) -> Any:
        """A GET of some node (default: any that runs), as JSON."""
        chosen = node or next(n for n in self.nodes if n.alive)
        with urllib.request.urlopen(chosen.url + path, timeout=30) as answer:
            return json.load(answer)

    def restart(self, i: int) -> None:
        """Bring a stopped or killed node back, with its data."""
        self.nodes[i].start()

    def stop(self) -> None:
        for node in self.nodes:
            if node.alive and node._process is not None and node._process.stdin is not None:
                node._process.stdin.close()  # all at once: the last ones would wait for the others
        for node in self.nodes:
            node.stop()
        if self._own:
            shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.stop)

    def __enter__(self) -> Cluster:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def wait_for(done: Callable[[], Any], seconds: float = 45.0) -> None:
    """Look again and again until something is so."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description="Start an OpenSearch cluster on loopback; Enter stops it.")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--heap", default="512m")
    args = parser.parse_args()
    with Cluster(args.nodes, args.heap) as cluster:
        print(f"green after {cluster.start_s:.1f} s: {' '.join(cluster.urls)}", flush=True)
        print(f"try: Collection.create('opensearch://{cluster.hosts}/notes'). Enter stops it.", flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main()
