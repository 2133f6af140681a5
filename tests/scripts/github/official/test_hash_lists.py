"""Lists of hashes that can be attested: none too long, nothing left out without a word."""

import hashlib
from pathlib import Path

import pytest

from scripts.github.official import check_shards
from scripts.github.official.check_shards import HASH_LISTS, SUBJECT_BYTES, SUBJECTS, write_hash_lists


def files(place: Path, count: int) -> list[Path]:
    paths = [place / "results" / f"{number}.json" for number in range(count)]
    (place / "results").mkdir(parents=True)
    for path in paths:
        path.write_text(path.name)
    return paths


def listed(place: Path) -> list[list[str]]:
    lists = sorted((place / HASH_LISTS).iterdir(), key=lambda path: int(path.stem))
    return [path.read_text().splitlines() for path in lists]


@pytest.mark.parametrize(
    ("count", "lengths"), [(0, []), (1, [1]), (1024, [1024]), (1025, [1024, 1]), (3000, [1024, 1024, 952])]
)
def test_no_list_is_longer_than_can_be_attested(tmp_path: Path, count: int, lengths: list[int]) -> None:
    paths = files(tmp_path, count)
    wrote = write_hash_lists(paths, tmp_path)

    assert [len(lines) for lines in listed(tmp_path)] == lengths
    assert wrote == len(lengths)
    assert {line for lines in listed(tmp_path) for line in lines} == {
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  results/{path.name}" for path in paths
    }


def test_no_list_has_more_bytes_than_can_be_attested(tmp_path: Path) -> None:
    place = tmp_path / "accepted"
    deep = place.joinpath(*["d" * 200] * 4)
    wrote = write_hash_lists([*files(deep, 700)], place)

    assert wrote == 2
    assert sum(len(lines) for lines in listed(place)) == 700
    assert max(path.stat().st_size for path in (place / HASH_LISTS).iterdir()) <= SUBJECT_BYTES


def test_what_is_beyond_all_lists_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check_shards, "ATTESTED_LISTS", 2)

    assert write_hash_lists(files(tmp_path, 2 * SUBJECTS + 3), tmp_path) == 2
    assert len(listed(tmp_path)) == 2
    assert "3 results are not attested" in capsys.readouterr().err
