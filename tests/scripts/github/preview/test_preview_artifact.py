"""The artifact is a stranger's bytes: one small preview in a zip file, or one line saying why not."""

import io
import json
import stat
import struct
import warnings
import zipfile
from typing import Any

import pytest

from leaderboard.comments.log_excerpt import PREVIEW_LOG_BYTES
from scripts.github.preview.preview_artifact import PREVIEW_BYTES, ZIP_BYTES, ArtifactError, read_artifact
from tests.leaderboard.make import entry, result

SHA = "a" * 40


def preview(**fields: Any) -> dict[str, Any]:
    who = entry("alice")
    measured = result(who, [1.0, 2.5], **{"class": "preview"}).document()
    agent = {
        "login": "alice", "agent": "agent", "submission_digest": who.digest, "name": "Mine", "faults": [], "duels": [],
        "results": [measured],
    }  # fmt: skip
    return {"schema": 1, "head_sha": SHA, "evaluator_sha": SHA, "agents": [agent], "skipped": [], **fields}


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def of(value: Any) -> bytes:
    return zipped(("preview.json", value if isinstance(value, bytes) else json.dumps(value).encode()))


def info(name: str, mode: int) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    member.external_attr = mode << 16
    return member


def test_what_the_preview_writes_is_read() -> None:
    checked, log = read_artifact(zipped(("preview.json", json.dumps(preview()).encode()), ("preview.log", b"| hello\n")))

    assert log == "| hello\n"
    assert checked.agents[0].results[0].returns == (1.0, 2.5)
    assert checked.document() == preview()


GOOD = json.dumps(preview()).encode()


@pytest.mark.attack(
    "archive_of_another_form", family="supply", outcome="refused in one line",
    tries="Hands in an archive with other files, links, paths, twins or sizes than ours.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "not a zip file"),
        (b"not a zip", "not a zip file"),
        (zipped(("preview.json", GOOD))[:-30], "not a zip file"),
        (b"\0" * (ZIP_BYTES + 1), "more than"),
        (zipped(), "other files"),
        (zipped(("preview.log", b"")), "other files"),
        (zipped(("../preview.json", GOOD)), "other files"),
        (zipped(("/preview.json", GOOD)), "other files"),
        (zipped(("sub/preview.json", GOOD)), "other files"),
        (zipped(("preview.json", GOOD), ("preview.json", GOOD)), "other files"),
        (zipped(("preview.json", GOOD), ("../../etc/passwd", b"")), "other files"),
        (zipped(("preview.json", GOOD), ("preview.log", b""), ("run.sh", b"")), "other files"),
        (zipped(("PREVIEW.JSON", GOOD)), "other files"),
        (zipped((info("preview.json", stat.S_IFLNK | 0o777), b"/etc/passwd")), "not a plain file"),
        (zipped((info("preview.json", stat.S_IFIFO), GOOD)), "not a plain file"),
        (zipped(("preview.json", b" " * (PREVIEW_BYTES + 1))), "too large"),
        (zipped(("preview.json", GOOD), ("preview.log", b"\0" * (PREVIEW_LOG_BYTES + 1))), "too large"),
        (zipped(("preview.json", b"0" * (200 << 20))), "too large"),
    ],
    # Not their bytes, which hold the time.
    ids=lambda value: value if isinstance(value, str) else "container",
)
def test_any_other_container_is_refused_in_one_line(content: bytes, fault: str) -> None:
    with pytest.raises(ArtifactError, match=fault) as caught:
        read_artifact(content)

    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.attack(
    "archive_that_lies_about_a_size", family="supply", outcome="cut off at the limit",
    tries="Announces a small file in an archive and packs a bomb.",
)  # fmt: skip
def test_a_member_that_lies_about_its_size_is_cut_off() -> None:
    content = bytearray(zipped(("preview.json", b" " * (PREVIEW_BYTES * 4))))
    small = struct.pack("<L", 100)
    central = content.rindex(b"PK\x01\x02")
    content[22:26] = content[central + 24 : central + 28] = small

    with pytest.raises(ArtifactError):
        read_artifact(bytes(content))


@pytest.mark.attack(
    "archive_with_a_password", family="supply", outcome="refused in one line",
    tries="Encrypts a file of the archive.",
)  # fmt: skip
def test_an_encrypted_member_is_refused() -> None:
    content = bytearray(of(GOOD))
    content[6] |= 1
    content[content.rindex(b"PK\x01\x02") + 8] |= 1

    with pytest.raises(ArtifactError):
        read_artifact(bytes(content))


def spoilt(content: bytes, offset: int, value: bytes) -> bytes:
    """A zip file whose first member's data is overwritten, from an offset into it on."""
    name, extra = struct.unpack("<HH", content[26:30])
    begin = 30 + name + extra + offset
    return content[:begin] + value + content[begin + len(value) :]


def declared(content: bytes, method: int, flags: int = 0) -> bytes:
    """A zip file whose one member says of itself that it is compressed by another method, or has other flags."""
    parts = bytearray(content)
    central = parts.rindex(b"PK\x01\x02")
    for begin in (6, central + 8):
        parts[begin : begin + 4] = struct.pack("<HH", flags, method)
    return bytes(parts)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_stored_and_deflated_members_are_read(method: int) -> None:
    assert read_artifact(zipped(("preview.json", GOOD), method=method))[0].agents[0].login == "alice"


@pytest.mark.attack(
    "archive_of_another_method", family="supply", outcome="refused in one line",
    tries="Packs the archive with methods whose decoders have faults of their own.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (zipped(("preview.json", GOOD), method=zipfile.ZIP_LZMA), "neither stored nor deflated"),
        (zipped(("preview.json", GOOD), method=zipfile.ZIP_BZIP2), "neither stored nor deflated"),
        (spoilt(zipped(("preview.json", GOOD), method=zipfile.ZIP_LZMA), 12, b"\xff" * 40), "neither stored nor deflated"),
        (spoilt(zipped(("preview.json", GOOD), method=zipfile.ZIP_BZIP2), 12, b"\xff" * 40), "neither stored nor deflated"),
        (declared(zipped(("preview.json", GOOD)), zipfile.ZIP_LZMA), "neither stored nor deflated"),
        (declared(zipped(("preview.json", GOOD)), 99), "neither stored nor deflated"),
        (zipped(("preview.json", GOOD), (info("preview.log", 0), b"x"))[:-22], "not a zip file"),
        (spoilt(zipped(("preview.json", GOOD)), 12, b"\xff" * 40), "not a zip file"),
        (spoilt(zipped(("preview.json", GOOD), method=zipfile.ZIP_STORED), 12, b"x"), "not a zip file"),
        (declared(of(GOOD), zipfile.ZIP_DEFLATED, 1), "not a plain file"),
        (declared(of(GOOD), zipfile.ZIP_DEFLATED, 1 << 5), "not a zip file"),
        (declared(of(GOOD), zipfile.ZIP_DEFLATED, 1 << 6), "not a zip file"),
    ],
    ids=[
        "lzma", "bzip2", "bad-lzma", "bad-bzip2", "deflated-called-lzma", "unknown-method", "cut", "bad-deflate", "bad-crc",
        "encrypted", "patched", "strongly-encrypted",
    ],
)  # fmt: skip
def test_a_member_that_cannot_be_unpacked_is_refused_in_one_line(content: bytes, fault: str) -> None:
    with pytest.raises(ArtifactError, match=fault) as caught:
        read_artifact(content)

    assert "\n" not in str(caught.value)


def changed(**fields: Any) -> dict[str, Any]:
    """A preview whose one agent is changed."""
    document = preview()
    document["agents"][0] |= fields
    return document


def measured(**fields: Any) -> dict[str, Any]:
    """A preview whose one result is changed, its hash with it or not."""
    document = preview()
    document["agents"][0]["results"][0] |= fields
    return document


@pytest.mark.attack(
    "preview_of_another_form", family="supply", outcome="refused in one line",
    tries="Hands in JSON of other types, keys, depth and numbers as a preview.",
)  # fmt: skip
@pytest.mark.parametrize(
    "value",
    [
        b"", b"[]", b"null", b"{}", b'"x"', b"\xff\xfe", b"[" * 100_000,
        GOOD.replace(b"2.5", b"NaN"), GOOD.replace(b"2.5", b"Infinity"), GOOD.replace(b"2.5", b"1e999"),
        GOOD.replace(b'"schema": 1', b'"schema": 1, "schema": 1'),
        GOOD.replace(b"2.5", b"9" * 5000),
        preview(schema=2), preview(pr_number=1), preview(head_sha="HEAD"), preview(head_sha=SHA + "\n"),
        preview(agents=None),
        preview(agents={}), preview(agents=[preview()["agents"][0]] * 2), preview(skipped="none"), preview(schema="1"),
        preview(skipped=["x" * 1001]), preview(skipped=["x"] * 101),
        changed(login="../../etc"), changed(login="bob"), changed(agent="Upper"), changed(name="two\nlines"),
        changed(name=7),
        changed(name="a\u202eb"), changed(results=[{}]), changed(results=preview()["agents"][0]["results"] * 2),
        changed(submission_digest=None), changed(faults=[1]), changed(extra=1),
        measured(returns=[1.0, 3.5]), measured(returns=["1", "2.5"]), measured(returns=[1.0]), measured(returns=[True, 2.5]),
        measured(**{"class": "official"}), measured(log_tail="secret"), measured(login_id="1"), measured(task="../x"),
        measured(self_sha256="0" * 64), measured(lengths=[1.5, 1]), measured(verdict="won"),
    ],
)  # fmt: skip
def test_any_other_content_is_refused_in_one_line(value: Any) -> None:
    with pytest.raises(ArtifactError) as caught:
        read_artifact(of(value))

    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_five_agents_are_more_than_a_preview_holds() -> None:
    agents = [changed(agent=f"a{n}", results=[])["agents"][0] for n in range(5)]

    assert len(read_artifact(of(preview(agents=agents[:4])))[0].agents) == 4
    with pytest.raises(ArtifactError, match="at most 4"):
        read_artifact(of(preview(agents=agents)))


@pytest.mark.attack(
    "preview_of_the_largest_numbers", family="bot", outcome="refused in one line",
    tries="Hands in finite returns whose sum or square is not, so that the bot fails while it scores them, at every report.",
)  # fmt: skip
@pytest.mark.parametrize("returns", [[1.7e308, 1.7e308], [-1.7e308, 1.7e308], [1e200, 1.0], [-1e31, 0.0]])
def test_numbers_that_nothing_can_be_reckoned_with_are_refused(returns: list[float]) -> None:
    who = entry("alice")
    document = preview()
    document["agents"][0]["results"] = [result(who, [1.0, 0.0], **{"class": "preview"}).document() | {"returns": returns}]

    with pytest.raises(ArtifactError, match=r"a number in preview\.json is larger than 1e\+30"):
        read_artifact(of(document))


def test_large_numbers_of_honest_games_are_read() -> None:
    document = preview()
    document["agents"][0]["results"] = [result(entry("alice"), [1e15, -1e20], **{"class": "preview"}).document()]

    read_artifact(of(document))
