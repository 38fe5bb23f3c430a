"""Names of devices and precisions; without torch, and with a torch that sees no GPU, or two."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from zipfian import device
from zipfian.encode import ImageEncoder, TextEncoder
from zipfian.errors import InvalidInput, MissingExtra


def pretend(monkeypatch: pytest.MonkeyPatch, gpus: int) -> None:
    """A torch that sees so many GPUs."""
    cuda = SimpleNamespace(is_available=lambda: gpus > 0, device_count=lambda: gpus)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, __spec__=object()))


def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


def test_the_processor_needs_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    without_torch(monkeypatch)
    assert device.checked_device("cpu") == device.checked_device("auto") == "cpu"
    for kind in (TextEncoder, ImageEncoder):
        assert kind(device="auto").device == "cpu"
        for name in ("cuda", "cuda:1", "torch:cpu"):
            with pytest.raises(MissingExtra, match=r"pip install 'zipfian\[gpu\]'"):
                kind(device=name)


def test_a_gpu_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 0)
    assert device.checked_device("auto") == "cpu"
    with pytest.raises(InvalidInput, match=r"device 'cuda' was asked for, and torch sees no CUDA device here.*'cpu'"):
        device.checked_device("cuda")
    pretend(monkeypatch, 2)
    assert device.checked_device("auto") == "cuda" and device.checked_device("cuda:1") == "cuda:1"
    with pytest.raises(InvalidInput, match=r"device 'cuda:7' was asked for, and torch sees only cuda:0 to cuda:1"):
        device.checked_device("cuda:7")


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:١", "CUDA", "", "torch:cuda", 0, None])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="device must be 'auto', 'cpu', 'cuda' or 'cuda:N', not"):
        device.checked_device(name)


@pytest.mark.parametrize("kind", [TextEncoder, ImageEncoder])
def test_precisions(kind: type[TextEncoder] | type[ImageEncoder]) -> None:
    with pytest.raises(InvalidInput, match="precision must be one of float32, bfloat16, float16, not 'int8'"):
        kind(precision="int8")
    with pytest.raises(InvalidInput, match=r"precision 'float16' is for a GPU.*leave it out"):
        kind(precision="float16")


def test_convolutions_are_plain_in_versions_of_torch_without_a_setting_for_them_alone() -> None:
    cudnn = SimpleNamespace(allow_tf32=True)
    torch = SimpleNamespace(backends=SimpleNamespace(cudnn=cudnn))
    with pytest.raises(ValueError, match="stop"), device.plain_convolutions(torch):
        assert cudnn.allow_tf32 is False
        raise ValueError("stop")
    assert cudnn.allow_tf32 is True
