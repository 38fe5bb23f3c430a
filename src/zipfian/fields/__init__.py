"""Fields: the ways to find the documents of a collection, one class for each kind, and what it takes to write one.

Words(language="german")            the words of the text
Latent(), Visual()                  terms that a sparse autoencoder finds in texts and in pictures
Dense("text"), Aligned()            vectors
Sparse(n_terms), Splade(model)      ready-made terms, and those of a SPLADE model
"""

from zipfian.fields.aligned import Aligned
from zipfian.fields.base import Field, PostingField, VectorField
from zipfian.fields.dense import Dense
from zipfian.fields.latent import Latent
from zipfian.fields.lexical import LexicalField
from zipfian.fields.registry import register
from zipfian.fields.scalar import Scalar
from zipfian.fields.sparse import Sparse
from zipfian.fields.splade import Splade
from zipfian.fields.translated import Translated
from zipfian.fields.visual import Visual
from zipfian.fields.words import Words

__all__ = [
    "Aligned",
    "Dense",
    "Field",
    "Latent",
    "LexicalField",
    "PostingField",
    "Scalar",
    "Sparse",
    "Splade",
    "Translated",
    "VectorField",
    "Visual",
    "Words",
    "register",
]
