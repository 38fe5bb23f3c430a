"""What the tables are made from: captioned pictures as the evaluation's tests have them."""

from tests.evaluate.conftest import beir, captions, photos, touch

__all__ = ["beir", "captions", "photos", "touch"]
