"""Snapshots, modes, settings: what a collection is when it is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from zipfian.errors import IndexCorrupt, IndexExists, IndexLocked, IndexNotFound, InvalidInput, ReadOnly
from zipfian.fields import Sparse, Words
from zipfian.index.snapshot import Snapshot
from zipfian.vocabulary import Pruning


class TestSnapshots:
    def test_a_reader_moves_on_when_told(self, path: Path) -> None:
        with zf.Collection.open(path) as reader, zf.Collection.open(path, "w") as writer:
            writer.add([{"id": "f", "text": "light"}])
            assert writer.commit(user={"n": 3}) == 3
            assert reader.generation == 2
            assert "f" not in reader
            assert writer.generation == 3
            assert reader.refresh() == 3
            assert "f" in reader
            assert reader.user == {"n": 3}

    def test_refresh_without_a_newer_commit_keeps_what_was_decoded(self, path: Path) -> None:
        with zf.Collection.open(path) as reader:
            reader.search("light")
            before = reader.stats()["fields"]["words"]["cached_bytes"]
            assert before > 0
            assert reader.refresh() == 2
            assert reader.stats()["fields"]["words"]["cached_bytes"] == before

    def test_refresh_opens_nothing_without_a_newer_commit(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with zf.Collection.open(path) as reader:
            with monkeypatch.context() as patched:
                patched.setattr(Snapshot, "open", None)
                assert reader.refresh() == 2
            with zf.Collection.open(path, "w") as writer:
                writer.delete(["a"])
                writer.commit()
            (path / "manifest-000000000003.json").unlink()
            with pytest.raises(IndexCorrupt, match="is missing, though that commit was completed"):
                reader.refresh()

    def test_a_commit_without_changes_is_none(self, notes: zf.Collection) -> None:
        assert notes.commit() == 2
        assert notes.commit(user={"why": "first"}) == 2
        assert notes.commit(user={"why": "second"}) == 3
        assert notes.commit() == 3
        assert notes.user == {"why": "second"}

    def test_an_older_generation(self, path: Path) -> None:
        with zf.Collection.open(path, "w") as writer:
            writer.delete(["a"])
            writer.commit()
        with zf.Collection.open(path, generation=2) as old:
            assert "a" in old
            assert old.refresh() == 3
            assert "a" not in old
        with pytest.raises(IndexNotFound, match=r"no generation 9; those kept are \[2, 3\]"):
            zf.Collection.open(path, generation=9)
        with pytest.raises(InvalidInput, match="can only be read"):
            zf.Collection.open(path, "w", generation=2)

    def test_reopened_it_is_the_same(self, path: Path) -> None:
        with zf.Collection.open(path) as one, zf.Collection.open(str(path)) as two:
            for query in ("light plants", {1: 1.0, 4: 2.0}):
                assert [(h.id, h.score) for h in one.search(query)] == [(h.id, h.score) for h in two.search(query)]
            assert one.fields == two.fields

    def test_uncommitted_changes_are_forgotten(self, path: Path) -> None:
        with zf.Collection.open(path, "w") as c:
            c.delete(["a"])
            c.add([{"id": "f", "text": "new"}])
            c.merge()
        with zf.Collection.open(path) as c:
            assert list(c.ids()) == ["a", "b", "c", "d", "e"]
            assert c.check().orphans == []


class TestModes:
    def test_read_only(self, path: Path) -> None:
        with zf.Collection.open(path) as reader:
            for write in (
                lambda: reader.add([]), lambda: reader.upsert([]), lambda: reader.delete([]), reader.commit,
                reader.rollback, reader.merge, lambda: reader.add_field("x", Words()),
            ):  # fmt: skip
                with pytest.raises(ReadOnly, match=r"open for reading: Collection\.open"):
                    write()
            assert reader.check().ok

    def test_closed(self, path: Path) -> None:
        c = zf.Collection.open(path, "w")
        c.close()
        c.close()
        for use in (
            lambda: c.search("x"), lambda: c.add([]), lambda: len(c), lambda: c.get("a"), c.stats, c.check, c.commit,
            c.refresh, lambda: c.generation, lambda: c.score("words", "x", []), lambda: c.explain("x", "a"), c.ids,
        ):  # fmt: skip
            with pytest.raises(InvalidInput, match="closed; open it again"):
                use()
        assert "closed" in repr(c)

    def test_one_writer_at_a_time(self, path: Path) -> None:
        with zf.Collection.open(path, "w") as first:
            with pytest.raises(IndexLocked, match="another writer"):
                zf.Collection.open(path, "w")
            with zf.Collection.open(path) as reader:
                assert len(reader) == 5
            first.add([{"id": "f", "text": "x"}])
            assert first.commit() == 3
        zf.Collection.open(path, "w").close()

    def test_create_and_open_the_wrong_thing(self, path: Path, tmp_path: Path) -> None:
        with pytest.raises(IndexExists, match="holds a collection already"):
            zf.Collection.create(path)
        (tmp_path / "folder").mkdir()
        with pytest.raises(IndexNotFound, match="empty folder, not a collection"):
            zf.Collection.open(tmp_path / "folder")
        (tmp_path / "folder" / "letter.txt").write_text("dear")
        with pytest.raises(IndexNotFound, match="is not a collection"):
            zf.Collection.open(tmp_path / "folder")
        with pytest.raises(IndexExists, match="not empty"):
            zf.Collection.create(tmp_path / "folder")
        with pytest.raises(IndexNotFound, match="no such folder"):
            zf.Collection.open(tmp_path / "nowhere", "w")
        with pytest.raises(IndexNotFound, match="is a file"):
            zf.Collection.open(tmp_path / "folder" / "letter.txt")
        with pytest.raises(IndexExists, match="is a file"):
            zf.Collection.create(tmp_path / "folder" / "letter.txt")
        assert not (tmp_path / "nowhere").exists()
        assert [p.name for p in (tmp_path / "folder").iterdir()] == ["letter.txt"]
        empty = tmp_path / "empty"
        empty.mkdir()
        zf.Collection.create(empty).close()

    def test_a_damaged_file_is_named(self, path: Path) -> None:
        file = next(path.glob("*.field"))
        data = bytearray(file.read_bytes())
        data[200] ^= 1
        file.write_bytes(data)
        with pytest.raises(IndexCorrupt, match=file.name) as caught:
            zf.Collection.open(path)
        assert caught.value.file == file.name
        with pytest.raises(IndexCorrupt, match="Generation 1 is older and can be read: open it with generation=1"):
            zf.Collection.open(path, "w")
        with zf.Collection.open(path, generation=1) as c:
            assert [name for name, _ in c.check().problems] == [file.name]


class TestSettings:
    def test_a_query_is_analysed_as_the_documents_were(self, tmp_path: Path) -> None:
        field = Words(language="french", stop_words=("et",), fold_accents=False)
        with zf.Collection.create(tmp_path / "c", {"words": field}) as c:
            c.add([{"id": "a", "text": "Les élèves et les châteaux"}])
            c.commit()
        with zf.Collection.open(tmp_path / "c") as c:
            assert c.fields["words"] == field
            assert [h.id for h in c.search("élève")] == ["a"]
            assert [h.id for h in c.search("château")] == ["a"]
            assert not c.search("eleves chateaux")

    def test_the_first_field_of_its_kind_is_the_default_for_good(self, tmp_path: Path) -> None:
        fields = {"words": Words(), "latent": Sparse(3), "exact": Words(stem=False)}
        with zf.Collection.create(tmp_path / "c", fields) as c:
            c.add([{"id": "a", "text": "plants"}])
            c.commit()
            c.add_field("also", Words(stem=False))
            c.commit()
            assert c.search("plant").settings["field"] == "words"
        with zf.Collection.open(tmp_path / "c") as c:
            assert list(c.fields) == ["words", "latent", "exact", "also"]
            assert c.search("plant").settings["field"] == "words"

    def test_pruning_is_recorded(self, tmp_path: Path) -> None:
        pruning = Pruning(min_weight=0.15, top_k=2, max_df_share=0.9, drop_top_share=0.01)
        fields = {"t": Sparse(9, pruning=pruning, scoring=zf.BM25(k1=8, b=0.7, phi="sqrt"), scale=50.0)}
        with zf.Collection.create(tmp_path / "c", fields) as c:
            c.add([{"id": "a", "terms": {"t": {0: 0.1, 1: 0.5, 2: 0.6, 3: 0.7}}}, {"id": "b"}])
            c.commit()
        with zf.Collection.open(tmp_path / "c") as c:
            assert c.fields == fields
            assert c.stats()["fields"]["t"]["postings"] == 2
            assert not c.search({0: 1.0})
            assert not c.search({1: 1.0})
            assert c.search({3: 1.0})

    def test_default_fields(self, tmp_path: Path) -> None:
        for n, fields in enumerate((None, ["words"], {"words": Words()})):
            with zf.Collection.create(tmp_path / str(n), fields) as c:
                assert c.fields == {"words": Words()}
