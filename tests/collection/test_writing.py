"""What the public face promises to writers: documents in and out, order, fields that come later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.collection.parts import folder
from zipfian.collection import Document
from zipfian.errors import InvalidInput
from zipfian.fields import Sparse, Words


class TestWriting:
    def test_delete_of_waiting_flushed_and_committed_documents(self, notes: zf.Collection) -> None:
        notes.add([{"id": "f", "text": "waiting"}])
        assert notes.delete(["f", "f", "nobody", "a"]) == 2
        assert notes.delete(["a", "f"]) == 0
        notes.commit()
        assert list(notes.ids()) == ["b", "c", "d", "e"]
        notes.upsert([{"id": "b", "text": "again"}])
        assert notes.delete(["b"]) == 1
        assert notes.delete(["b"]) == 0
        notes.add([{"id": "b", "text": "once more"}])
        notes.commit()
        assert list(notes.ids()) == ["c", "d", "e", "b"]
        assert notes.get("b").text == "once more"

    def test_existing(self, notes: zf.Collection) -> None:
        with pytest.raises(InvalidInput, match="document 'a' is in the collection already"):
            notes.add([{"id": "x", "text": "kept"}, {"id": "a", "text": "no"}, {"id": "y", "text": "not reached"}])
        with pytest.raises(InvalidInput, match="document 'x' is in the collection already"):
            notes.add([{"id": "x", "text": "twice"}])
        assert notes.add([{"id": "a", "text": "no"}, {"id": "y", "text": "yes"}], existing="skip") == 1
        assert notes.add([{"id": "a", "text": "new"}], existing="replace") == 1
        notes.commit()
        assert list(notes.ids()) == ["b", "c", "d", "e", "x", "y", "a"]
        assert notes.get("a") == Document("a", "new", {})
        assert notes.get("x").text == "kept"

    def test_the_same_id_twice_in_one_call(self, tmp_path: Path) -> None:
        twice = [{"id": "a", "text": "one"}, {"id": "b", "text": "other"}, {"id": "a", "text": "two"}]
        with zf.Collection.create(tmp_path / "c") as c:
            with pytest.raises(InvalidInput, match="document 'a' is in the collection already"):
                c.add(twice)
            c.commit()
            assert [(i, c.get(i).text) for i in c.ids()] == [("a", "one"), ("b", "other")]
            assert c.upsert(twice) == 3
            c.commit()
            assert [(i, c.get(i).text) for i in c.ids()] == [("b", "other"), ("a", "two")]
            assert c.add(twice, existing="skip") == 0

    def test_progress(self, tmp_path: Path) -> None:
        seen: list[int] = []
        with zf.Collection.create(tmp_path / "c") as c:
            assert c.add(({"id": str(i), "text": "x"} for i in range(1_300)), progress=seen.append) == 1_300
        assert seen == sorted(seen)
        assert seen[-1] == 1_300
        assert len(seen) >= 3

    def test_rollback(self, notes: zf.Collection) -> None:
        notes.upsert([{"id": "a", "text": "new", "metadata": {"other": True}}, {"id": "n", "vector": [1.0, 1.0]}])
        notes.delete(["b"])
        notes.merge()
        notes.add_field("plain", Words(stem=False))
        notes.rollback()
        assert notes.commit() == 2
        assert list(notes.ids()) == ["a", "b", "c", "d", "e"]
        assert notes.columns == {"lang": "string", "year": "integer"}
        assert set(notes.fields) == {"words", "latent"}
        notes.add([{"id": "n", "metadata": {"other": "text now"}}])
        notes.commit()
        assert notes.columns["other"] == "string"
        assert notes.check().ok
        assert notes.check().orphans == []

    def test_caller_may_reuse_its_buffers(self, tmp_path: Path) -> None:
        ids, weights, vector = np.array([1, 3]), np.array([1.0, 2.0], np.float32), np.zeros(2, np.float32)

        def stream() -> Iterator[dict[str, Any]]:
            for i in range(3):
                ids[:], weights[:], vector[:] = (i, i + 2), i + 1, i
                yield {"id": str(i), "terms": {"t": (ids, weights)}, "vector": vector}
            ids[:] = vector[:] = 99

        with zf.Collection.create(tmp_path / "c", {"t": Sparse(5, tf="float32", scoring=zf.Dot())}) as c:
            c.add(stream())
            c.commit()
            assert [c.vector(str(i)).tolist() for i in range(3)] == [[i, i] for i in range(3)]
            assert [(h.id, h.score) for h in c.search({2: 1.0})] == [("2", 3.0), ("0", 1.0)]

    def test_many_commits_stay_few_segments(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "c") as c:
            for i in range(40):
                c.add([{"id": f"{i}", "text": f"number {i}"}])
                c.commit()
                assert c.stats()["segments"] <= 12
            assert list(c.ids()) == [str(i) for i in range(40)]
            c.merge(3)
            c.commit()
            assert c.stats()["segments"] == 3
            assert [h.id for h in c.search("number", 50)] == [str(i) for i in range(40)]

    def test_the_smallest_neighbours_are_merged(self, tmp_path: Path) -> None:
        """Five segments of 30 documents and eight of one: the thirteenth is one too many, and the small ones go."""
        with zf.Collection.create(tmp_path / "c") as c:
            for i, size in enumerate([30] * 2 + [1] * 8 + [30] * 3):
                c.add([{"id": f"{i}.{j}", "text": "x"} for j in range(size)])
                c.commit()
            assert [entry.n_docs for entry in folder(c)._store.writer.entries] == [30, 30, 8, 30, 30, 30]
            assert [reader.n_docs for reader in folder(c)._store.readers.values()] == [30, 30, 8, 30, 30, 30]
            assert list(c.ids())[60:68] == [f"{i}.0" for i in range(2, 10)]

    def test_a_merge_drops_deleted_documents_everywhere(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "c") as c:
            for i in range(4):
                c.add([{"id": f"{i}{j}", "text": "x"} for j in range(5)])
                c.commit()
            c.delete([f"{i}1" for i in range(4)])
            c.commit()
            c.merge(3)
            c.commit()
            assert (c.stats()["segments"], c.stats()["deleted"]) == (3, 0)
            c.delete(["00"])
            c.merge(5)
            c.commit()
            assert (c.stats()["segments"], c.stats()["deleted"]) == (3, 0)


class TestAddField:
    def test_words_from_the_stored_texts(self, notes: zf.Collection) -> None:
        notes.delete(["b"])
        notes.add([{"id": "f", "text": "Plants, plants"}])
        notes.add_field("exact", Words(stem=False, stop_words=False))
        notes.add([{"id": "g", "text": "plants"}])
        notes.commit()
        assert [h.id for h in notes.search("plants", fields="exact")] == ["f", "g", "a"]
        assert not notes.search("plant", fields="exact")
        assert notes.search("plant", fields="words")
        assert notes.check().ok

    def test_ready_made_terms_by_id(self, notes: zf.Collection) -> None:
        notes.add_field("visual", Sparse(3, tf="count", scoring=zf.Dot()), {"a": {0: 3}, "e": ([0, 2], [1, 5])})
        notes.add([{"id": "f", "terms": {"visual": {0: 2}}}])
        notes.merge()
        notes.commit()
        assert [(h.id, h.score) for h in notes.search({0: 1.0}, fields="visual")] == [
            ("a", 3.0),
            ("f", 2.0),
            ("e", 1.0),
        ]
        assert notes.check().ok

    def test_is_all_or_nothing(self, notes: zf.Collection) -> None:
        for terms, problem in (
            ({"a": {0: 1.0}, "z": {0: 1.0}}, "terms for document 'z', which is not in the collection"),
            ({"a": {7: 1.0}}, r"document 'a': field 'visual': term ids must lie in 0 .. 2; found 7 .. 7"),
            ({"a": {0: -1.0}}, "document 'a': field 'visual': weights must be finite and not negative"),
            ({"": {0: 1.0}}, "a document id must not be empty"),
            ([1, 2], "terms must be a mapping id -> Terms, not list"),
        ):
            with pytest.raises(InvalidInput, match=problem):
                notes.add_field("visual", Sparse(3), terms)
        for arguments, problem in (
            (("visual", Sparse(3)), "a sparse field needs terms="),
            (("visual", Words(), {}), "other fields read what is stored and take none"),
            (("words", Words()), "has a field 'words' already"),
            (("Visual", Words()), "field name starts with a lower-case letter"),
            (("visual", "words"), r"made with zipfian.Words\(...\)"),
        ):
            with pytest.raises(InvalidInput, match=problem):
                notes.add_field(*arguments)
        notes.commit()
        assert set(notes.fields) == {"words", "latent"}
        notes.add_field("visual", Sparse(3), {"a": {0: 1.0}})
        notes.commit()
        assert [h.id for h in notes.search({0: 1.0}, fields="visual")] == ["a"]
