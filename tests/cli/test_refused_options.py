"""An option that would do nothing in a combination is refused, with a sentence that says what it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command

REFUSED = {
    "inspect {c} --html p.html": "--html writes the page of one term: it goes with --term",
    "inspect {c} --terms --html p.html": "--html writes the page of one term: it goes with --term",
    "inspect {c} --out d": "--out writes patches of a picture: it goes with --term or --image",
    "inspect {c} --zipf --out d": "--out writes patches of a picture: it goes with --term or --image",
    "inspect {c} --field words": "--field names the field of a collection that is meant: it goes with --term "
    "or --terms or "
    "--find or --zipf",
    "inspect {c} --limit 0": "--limit says how many terms or examples are listed: it goes with --term or --terms or "
    "--find or --text or --image",
    "inspect {c} --zipf --limit 3": "--limit says how many terms or examples are listed: it goes with --term or "
    "--terms or --find or --text or --image",
    "inspect {c} --queries q.txt": "--queries counts postings for the Zipf statistics: it goes with --zipf",
    "inspect {c} --terms --queries q.txt": "--queries counts postings for the Zipf statistics: it goes with --zipf",
    "inspect {c} --vocabulary text-16k": "--vocabulary is the one that a text or picture is shown in: it goes with "
    "--text or --image",
    "inspect {c} --term a --zipf": "--term and --zipf show different things: give one of them",
    "inspect {c} --terms --find a": "--terms and --find show different things: give one of them",
    "inspect {c} --find a --plot z.svg": "--find shows something else than --plot draws: give one of them",
    "inspect --text a --zipf": "--zipf shows what a collection or vocabulary holds: leave it out with --text and "
    "--image",
    "inspect --text a --plot z.svg": "--plot draws the Zipf statistics of a collection or vocabulary: leave it out "
    "here",
    "inspect --text a --trust m": "--trust is about a collection, which --text and --image do without",
    "inspect --text a --html p.html": "--html writes the page of one term: it goes with --term",
    "inspect text-16k --zipf --queries q.txt": "--queries needs a collection with documents, and text-16k is "
    "a vocabulary",
    "inspect text-16k --pictures d": "--pictures needs a collection with documents, and text-16k is a vocabulary",
    "inspect text-16k --term 3 --limit 2": "--limit needs a collection with documents, and text-16k is a "
    "vocabulary",
    "tune {d} --fields words,latent --k1 1": "--k1 is of one field's scoring; of words, latent the weights are tuned "
    "(--step)",
    "tune {d} --fields words,latent --b 0": "--b is of one field's scoring; of words, latent the weights are tuned "
    "(--step)",
    "tune {d} --fields words,latent --phi sqrt": "--phi is of one field's scoring; of words, latent the "
    "weights are tuned "
    "(--step)",
    "tune {d} --step 0.1": "--step is of the weights of several fields; of words the scoring is tuned "
    "(--k1, --b, --phi)",
    "tune {p} --split dev": "--split names qrels of a BEIR folder; folders of classes have none",
    "eval images {d} --level hard": "--level is of instance ground truth: give it with --ground-truth JSON",
    "eval captions {d} --images {d} --runs 7": "--runs is of the repetitions of --protocol fair-loo",
    "eval captions {d} --images {d} --seed 0": "--seed is of the repetitions of --protocol fair-loo",
    "eval captions {d} --images {d} --no-gallery-captions": "--no-gallery-captions is a variant of --protocol val-only",
    "eval captions {d} --images {d} --protocol fair-loo --measures map": "--measures is for other protocols: fair-loo "
    "reports r@10 and mrr",
    "eval captions {d} --images {d} --protocol fair-loo --half odd": "--half chooses among queries, and --protocol "
    "fair-loo asks with all of them",
    "index --into {c} --add-field latent --fields words": "--fields goes with a SOURCE that makes a new collection: "
    "--add-field names what is added",
    "index --into {c} --add-field latent --encoded s": "--encoded goes with a SOURCE: a field that is added takes what "
    "the encode cache has",
    **{
        f"index --into {{c}} --add-field latent {option}": f"{option.split()[0]} says how a SOURCE is "
        "indexed: name one, "
        "or leave it out with --add-field alone"
        for option in (
            "--on-bad fail", "--prefix a", "--id-column a", "--text-column a", "--image-column a", "--follow-links",
            "--take-over", "--keep-missing", "--commit-every 5", "--exclude x", "--no-default-excludes",
        )
    },
    "index {d} --into {c} --id-column a": "id_column (--id-column) names a column of a record, and {d} holds no "
    "file of records",
    "index {d}/a.txt --into {c} --text-column a": "text_column (--text-column) names a column of a record, "
    "and {d}/a.txt "
    "is no file of records",
    "encode {d} --out s --image-column a": "image_column (--image-column) names a column of a record, and "
    "{d} holds no file of records",
    "index {d}/a.txt --into {c} --exclude x": "exclude (--exclude) is about names in a folder, "
    "and {d}/a.txt is a file",
    "index {d}/a.txt --into {c} --follow-links": "follow_links (--follow-links) is about links in a folder, and "
    "{d}/a.txt is a file",
    "search {c} --image {d}/a.png --query-encoder table": "--query-encoder says how a text becomes latent "
    "terms: give a QUERY, or leave it out",
    "explain {c} a.txt --image {d}/a.png --query-encoder table": "--query-encoder says how a text becomes latent "
    "terms: give a QUERY, or leave it out",
    "explain {c} a a.txt --above b.txt --out d.png": "--out draws one picture: leave --above out",
}  # fmt: skip
"""Command to the one line that it prints."""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    import zipfian as zf

    folder = tmp_path_factory.mktemp("places")
    notes, pictures = folder / "notes", folder / "pictures"
    notes.mkdir()
    (notes / "a.txt").write_text("light")
    (pictures / "gallery").mkdir(parents=True)
    with zf.Collection.create(folder / "c.zf") as collection:
        collection.sync(notes)
    return {"c": folder / "c.zf", "d": notes, "p": pictures}


@pytest.mark.parametrize("command", REFUSED)
def test_an_option_without_effect_is_refused(command: str, places: dict[str, Path], zipfian: Command) -> None:
    code, out, err = zipfian(*command.format(**places).split())
    assert (code, out, err) == (1, "", f"zipfian: {REFUSED[command].format(**places)}\n")
