"""EfficientNet-Lite in torch: the network that `efficientnet.py` writes as a graph, on a GPU."""

from __future__ import annotations

from typing import Any

from zipfian.device import Precision, load_torch, plain_convolutions
from zipfian.encode.efficientnet import LARGEST, MEAN, SPREAD, Block, Convolution, Network


class TorchEfficientNet:
    """Weights on a device, in the precision of its products."""

    def __init__(self, network: Network, device: Any, precision: Precision) -> None:
        self._torch = load_torch("an image encoder on a GPU")
        self.device = device
        self.dtype = getattr(self._torch, precision)
        self._stem = _Convolution(self._torch, network.stem, device, self.dtype)
        self._blocks = [_Block(self._torch, block, device, self.dtype) for block in network.blocks]
        self._head = _Convolution(self._torch, network.head, device, self.dtype)

    def run(self, pixels: Any, block: int | None = None) -> tuple[Any, Any]:
        """Patches (pictures, cells, channels), of the last convolution or after `block`, and sums.

        `pixels` is (pictures, 3, height, width), numbers from 0 to 255. The sums (pictures, 1280) are those of the last
        convolution's patches, in float32. They are no numbers where half precision could not hold a picture: what
        overflows inside would be cut to 6 like everything else, and not be seen at the end.
        """
        torch = self._torch
        early = None
        with plain_convolutions(torch):
            # Pixels lie colour by colour within a pixel already; convolutions are fastest when that is left so.
            values = ((pixels.float() - MEAN) / SPREAD).to(self.dtype, memory_format=torch.channels_last)
            values = self._stem(values)
            inner = []
            for number, own in enumerate(self._blocks):
                values = own(values)
                if self.dtype != torch.float32:
                    inner.append(values.sum(dim=(1, 2, 3), dtype=torch.float32))
                if number == block:
                    early = values
            values = self._head(values)
        sums = values.sum(dim=(2, 3), dtype=torch.float32)
        if inner:
            sums += 0.0 * torch.stack(inner).sum(dim=0)[:, None]  # 0, or no number
        return (values if early is None else early).flatten(2).transpose(1, 2), sums


class _Convolution:
    def __init__(self, torch: Any, own: Convolution, device: Any, dtype: Any) -> None:
        self._functions = torch.nn.functional
        weight = torch.tensor(own.weight, dtype=dtype, device=device)
        self._weight = weight.contiguous(memory_format=torch.channels_last)
        self._bias = torch.tensor(own.bias, dtype=dtype, device=device)
        self._stride = own.stride
        self._groups = len(own.weight) if own.depthwise else 1
        self._activate = own.activate

    def __call__(self, values: Any) -> Any:
        """A map through it. Padding as TensorFlow does it: the larger half at the bottom and on the right."""
        kernel, stride = self._weight.shape[2], self._stride
        # (height, width): a stride of 1 has odd kernels only, and pads alike on both sides, which costs no copy
        padding = (kernel // 2, kernel // 2)
        if stride > 1:
            pads: list[int] = []
            for side in (values.shape[3], values.shape[2]):
                need = max(0, (-(-side // stride) - 1) * stride + kernel - side)
                pads += [need // 2, need - need // 2]
            values, padding = self._functions.pad(values, pads), (0, 0)
        values = self._functions.conv2d(
            values, self._weight, self._bias, stride=stride, padding=padding, groups=self._groups
        )
        return values.clamp_(0.0, LARGEST) if self._activate else values


class _Block:
    def __init__(self, torch: Any, own: Block, device: Any, dtype: Any) -> None:
        self._convolutions = [_Convolution(torch, one, device, dtype) for one in own.convolutions]
        self._shortcut = own.shortcut

    def __call__(self, values: Any) -> Any:
        inside = values
        for convolution in self._convolutions:
            inside = convolution(inside)
        return inside.add_(values) if self._shortcut else inside
