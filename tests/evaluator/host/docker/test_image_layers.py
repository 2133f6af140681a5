"""Layers are read and written anew before they are unpacked: nothing in one may cost more than it says."""

import bz2
import gzip
import hashlib
import io
import lzma
import random
import tarfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.docker.image_layers import CheckedLayer, check_layer
from evaluator.host.errors import AgentFault
from evaluator.model.records.verdict import Verdict
from tests.evaluator.host.docker.plain_layers import assert_plain

MIB = 1 << 20


def tar(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def file(name: str = "a", size: int = 3, **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.size = size
    for key, value in fields.items():
        setattr(member, key, value)
    return member, bytes(size)


def checked(content: bytes, path: Path, most: int = MIB, digest: str | None = None, entries: int = 1000) -> CheckedLayer:
    unpacked = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    (path / "layer").write_bytes(content)
    layer = check_layer(path / "layer", digest or hashlib.sha256(unpacked).hexdigest(), most, entries)
    assert_plain(layer)
    return layer


def written(content: bytes, path: Path) -> dict[str, tarfile.TarInfo]:
    """The entries that an engine gets, by name, without the root."""
    with tarfile.open(fileobj=io.BytesIO(b"".join(checked(content, path).written.pieces()))) as archive:
        root, *members = archive
    assert (root.name, root.type, root.mode) == (".", tarfile.DIRTYPE, 0o755)
    return {member.name: member for member in members}


def examined(content: bytes, path: Path, **options: Any) -> tuple[int, int]:
    layer = checked(content, path, **options)
    return layer.unpacked, layer.entries


def fault(content: bytes, path: Path, **options: object) -> str:
    with pytest.raises(AgentFault) as caught:
        checked(content, path, **options)  # type: ignore[arg-type]
    assert caught.value.verdict is Verdict.INVALID
    return str(caught.value)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_honest_layers_of_every_format_are_measured(form: int, pack: type[bytes], tmp_path: Path) -> None:
    link = file("l", 0, type=tarfile.SYMTYPE, linkname="a")
    long = file("d" * 90 + "/" + "n" * 60, 700)
    content = tar(file(), link, file("dir", 0, type=tarfile.DIRTYPE), long, form=form)

    size, entries = examined(pack(content), tmp_path)

    assert size == len(content)
    assert entries >= 4
    assert {name: (one.type, one.size, one.linkname) for name, one in written(pack(content), tmp_path).items()} == {
        "a": (tarfile.REGTYPE, 3, ""),
        "l": (tarfile.SYMTYPE, 0, "a"),
        "dir": (tarfile.DIRTYPE, 0, ""),
        "d" * 90 + "/" + "n" * 60: (tarfile.REGTYPE, 700, ""),
    }


@pytest.mark.parametrize("name", [".", "./", "/", "a/.."])
def test_the_root_is_written_once(name: str, tmp_path: Path) -> None:
    """An engine refuses a layer that has a name twice; most layers have their root."""
    assert list(written(tar(file(name, 0, type=tarfile.DIRTYPE, mode=0o700), file("a")), tmp_path)) == ["a"]


def test_names_that_need_an_extended_header(tmp_path: Path) -> None:
    content = tar(file("ü" * 300, 5), file("b", 600, pax_headers={"SCHILY.xattr.user.x": "y=z\nq"}))

    assert examined(content, tmp_path)[0] == len(content)
    assert list(written(content, tmp_path)) == ["ü" * 300, "b"]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_content_permissions_and_times_stay_and_owners_and_special_bits_do_not(form: int, tmp_path: Path) -> None:
    member, _ = file("bin/run", 5000, mode=0o6755, uid=1000, gid=50, uname="u", gname="g", mtime=1_700_000_000)
    content = bytes(range(250)) * 20
    packed = tar((member, content), file("hard", 0, type=tarfile.LNKTYPE, linkname="./bin/../bin/run"), form=form)
    layer = checked(gzip.compress(packed), tmp_path).written
    again = b"".join(layer.pieces())

    assert (len(again), hashlib.sha256(again).hexdigest()) == (layer.size, layer.diff_id)
    with tarfile.open(fileobj=io.BytesIO(again)) as archive:
        run, hard = archive.getmember("bin/run"), archive.getmember("hard")
        assert archive.extractfile(run).read() == content  # type: ignore[union-attr]
    assert (run.mode, run.uid, run.gid, run.uname, run.gname, run.mtime) == (0o755, 0, 0, "", "", 1_700_000_000)
    assert (hard.type, hard.linkname) == (tarfile.LNKTYPE, "bin/run")


@pytest.mark.parametrize("name", [b"\xff\xfe", "ü".encode("latin-1") * 120])
def test_names_that_are_no_utf_8_stay_as_they_are(name: bytes, tmp_path: Path) -> None:
    assert list(written(raw(b"L", b"%o" % len(name), name.ljust(512, b"\0"))[:1024] + raw(b"0", b"0"), tmp_path)) == [
        name.decode("utf-8", "surrogateescape")
    ]


def test_several_gzip_members_are_one_layer(tmp_path: Path) -> None:
    content = tar(file())

    assert examined(gzip.compress(content[:700]) + gzip.compress(content[700:]), tmp_path)[0] == len(content)


def test_an_empty_layer_is_one(tmp_path: Path) -> None:
    assert examined(bytes(1024), tmp_path) == (1024, 0)
    assert examined(b"", tmp_path) == (0, 0)


def test_a_bomb_is_left_unread_behind_the_limit(tmp_path: Path) -> None:
    bomb = gzip.compress(tar(file(size=64 * MIB)), 9)
    (tmp_path / "layer").write_bytes(bomb)
    tracemalloc.start()

    with pytest.raises(AgentFault, match="unpacks to more than the limit"):
        check_layer(tmp_path / "layer", "0" * 64, 2 * MIB)

    assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    tracemalloc.stop()


@pytest.mark.attack(
    "layer_with_bytes_behind_its_end",
    family="images",
    tries="Hides gigabytes of zeros behind the end of a layer, where a careful reader has stopped.",
    outcome="invalid",
)
def test_zeros_behind_the_end_count_too(tmp_path: Path) -> None:
    assert "unpacks to more" in fault(gzip.compress(tar(file()) + bytes(4 * MIB)), tmp_path)


def old_sparse() -> bytes:
    header = bytearray(file(size=0, type=tarfile.GNUTYPE_SPARSE)[0].tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"%011o\0" % (7 << 30)
    return bytes(header) + bytes(1024)


@pytest.mark.parametrize(
    "content",
    [
        old_sparse(),
        tar(file(pax_headers={"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9999999999"})),
        tar(file(pax_headers={"GNU.sparse.size": "9999999999", "GNU.sparse.numblocks": "0", "GNU.sparse.map": ""})),
    ],
)
def test_sparse_files_are_refused(content: bytes, tmp_path: Path) -> None:
    assert "sparse" in fault(content, tmp_path)


def raw(kind: bytes, size: bytes, rest: bytes = b"", name: bytes = b"a") -> bytes:
    header = bytearray(512)
    header[: len(name)], header[124:136], header[156:157] = name, size.ljust(12, b"\0"), kind
    return bytes(header) + rest + bytes(1024)


@pytest.mark.attack(
    "layer_of_ambiguous_headers",
    family="images",
    tries="Brings layers that one reader understands otherwise than another.",
    outcome="invalid",
)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (raw(b"0", b"77777777777"), "in the middle of a file"),
        (raw(b"0", b"\x80" + (1 << 61).to_bytes(11, "big")), "in the middle of a file"),
        (raw(b"0", b"\xff" * 12), "cannot be read"),
        (raw(b"0", b"9z"), "cannot be read"),
        (raw(b"0", b"-1"), "cannot be read"),
        (raw(b"x", b"77777777777"), "more than a mebibyte"),
        (raw(b"L", b"77777777777"), "more than a mebibyte"),
        (raw(b"x", b"2000", b"5 a=\n"), "cannot be read"),
        (raw(b"x", b"12", b"99 size=1\n".ljust(512, b"\0")), "cannot be read"),
        (raw(b"Z", b"0"), "of an unknown kind"),
        (raw(b"2", b"0", name=b"."), "something else than a folder as its root"),
        (raw(b"x", b"14", b"12 size=-1\n\n".ljust(512, b"\0")), "cannot be read"),
        (raw(b"2", b"10"), "a link or a folder with bytes"),
        (b"a" * 100, "in the middle of a header"),
        (b"BZh91AY" + bytes(600), "something else than gzip"),
        (bz2.compress(tar(file())), "something else than gzip"),
        (lzma.compress(tar(file())), "something else than gzip"),
        (b"\x28\xb5\x2f\xfd" + bytes(600), "something else than gzip"),
    ],
)
def test_headers_that_another_reader_might_read_otherwise(content: bytes, words: str, tmp_path: Path) -> None:
    assert words in fault(content, tmp_path)


@pytest.mark.attack(
    "layer_with_two_sizes",
    family="images",
    tries="Names two sizes for one file of a layer.",
    outcome="invalid",
)
def test_a_size_in_an_extended_header_is_the_one_that_counts(tmp_path: Path) -> None:
    record = b"14 size=30000\n"
    content = raw(b"x", b"%o" % len(record), record.ljust(512, b"\0"))[:1024] + raw(b"0", b"3", bytes(512))

    assert "in the middle of a file" in fault(content, tmp_path)


@pytest.mark.attack(
    "layer_of_countless_attributes",
    family="images",
    tries="Has headers of a mebibyte of tiny records, thousands in a layer of megabytes: each takes a second to read.",
    outcome="invalid",
)
def test_an_extended_header_of_more_than_a_hundred_records_is_refused(tmp_path: Path) -> None:
    def with_records(count: int) -> bytes:
        records = b"6 a=b\n" * count
        padded = records + bytes(-len(records) % 512)
        return raw(b"x", b"%o" % len(records), padded)[: 512 + len(padded)] + raw(b"0", b"3", bytes(512))

    assert examined(with_records(100), tmp_path)[1] == 2
    assert "more than 100 records" in fault(with_records(101), tmp_path)


@pytest.mark.attack(
    "layer_of_folders_with_a_mebibyte_of_comment",
    family="images",
    tries="Has thousands of folders with a mebibyte of comment each, which the engine holds in memory: 7 GiB in all.",
    outcome="the engine gets none of it",
)
def test_comments_are_not_handed_on(tmp_path: Path) -> None:
    comment = {"comment": "c" * (MIB - 600)}
    packed = tar(*(file(f"{n}", 0, type=tarfile.DIRTYPE, pax_headers=comment) for n in range(65)))

    assert checked(packed, tmp_path, most=200 * MIB).written.size == 512 * (1 + 65 + 2)


@pytest.mark.attack(
    "layer_of_folders_with_a_mebibyte_of_target",
    family="images",
    tries="Has thousands of folders that name a target of a mebibyte, which the engine holds in memory: 7 GiB in all.",
    outcome="the engine gets no target of a folder",
)
@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("kind", [tarfile.DIRTYPE, tarfile.REGTYPE])
def test_a_target_of_what_is_no_link_is_not_handed_on(kind: bytes, form: int, tmp_path: Path) -> None:
    packed = tar(*(file(f"{n}", 0, type=kind, linkname="t" * (MIB - 600)) for n in range(3)), form=form)

    assert checked(packed, tmp_path, most=4 * MIB).written.size == 512 * (1 + 3 + 2)


@pytest.mark.attack(
    "layer_of_folders_with_long_names",
    family="images",
    tries="Lists 300,000 folders by names of four kilobytes, which the engine holds in memory: 4 GiB in all.",
    outcome="invalid",
)
@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize(("name", "kind"), [("name", tarfile.REGTYPE), ("linkname", tarfile.SYMTYPE)])
def test_names_of_more_than_a_thousand_bytes_are_refused(name: str, kind: bytes, form: int, tmp_path: Path) -> None:
    def packed(size: int) -> bytes:
        return tar(file(size=0, type=kind, **{name: "n" * size}), form=form)

    assert examined(packed(1000), tmp_path)
    assert "a name or a link of more than 1,000 bytes" in fault(packed(1001), tmp_path)


def test_what_a_header_says_of_all_files_is_not_heard(tmp_path: Path) -> None:
    """To engines it is a comment: they hear only what is said of one file."""
    record = b"10 path=x\n12 size=9\n\n"
    content = raw(b"g", b"%o" % len(record), record.ljust(512, b"\0"))[:1024] + raw(b"0", b"0", name=b"own")

    assert [(one.name, one.size) for one in written(content, tmp_path).values()] == [("own", 0)]


@pytest.mark.attack(
    "layer_that_is_an_archive_and_a_bomb",
    family="images",
    tries="Brings an archive whose first file name begins a stream of zstd that skips it and unpacks to gigabytes.",
    outcome="the archive that the engine gets begins with its root",
)
@pytest.mark.parametrize("first", [0x50, 0x5F])
def test_no_name_is_where_an_engine_looks_for_a_compression(first: int, tmp_path: Path) -> None:
    header, content = file(bytes([first]).decode() + "*M\x18\x78\x05", 2048)

    pieces = checked(tar((header, content)), tmp_path).written.pieces()

    assert next(pieces).startswith(b"./\0")


def device(major: int, minor: int, kind: bytes = tarfile.CHRTYPE) -> bytes:
    return tar(file("a", 0, type=kind, devmajor=major, devminor=minor, mode=0o666))


@pytest.mark.attack(
    "image_with_the_machines_console",
    family="images",
    tries="Brings the file of the machine's console, which the engine lets it open: prints there, reads what is typed.",
    outcome="the engine gets no device",
)
@pytest.mark.parametrize(
    "content",
    [
        device(5, 1), device(10, 200), device(4, 64), device(1, 3), device(8, 0, tarfile.BLKTYPE),
        device(0, 0, tarfile.FIFOTYPE),
        tar(file("dev/console", 0, type=tarfile.CHRTYPE, devmajor=5, devminor=1, pax_headers={"path": "seen"})),
    ],
)  # fmt: skip
def test_devices_and_pipes_are_left_out(content: bytes, tmp_path: Path) -> None:
    assert examined(content, tmp_path)[1] >= 1
    assert written(content, tmp_path) == {}


@pytest.mark.attack(
    "layer_of_attributes_of_the_engine",
    family="images",
    tries="Brings extended attributes that the engine's file system obeys or has no room for, to be our failure.",
    outcome="the engine gets no attribute",
)
@pytest.mark.parametrize(
    "attributes",
    [
        {"user.a": "a" * 2000},
        {"trusted.overlay.redirect": "/a/.."},
        {"user.overlay.opaque": "y"},
        {"security.capability": "a" * 20},
    ],
)
def test_attributes_are_left_out(attributes: dict[str, str], tmp_path: Path) -> None:
    headers = {f"SCHILY.xattr.{name}": value for name, value in attributes.items()}

    assert list(written(tar(file(pax_headers=headers)), tmp_path)) == ["a"]  # without any record, by `assert_plain`


@pytest.mark.attack(
    "layer_of_an_engines_bookkeeping",
    family="images",
    tries="Has names by which an engine's file system keeps books in a layer.",
    outcome="left out",
)
def test_names_of_an_engines_bookkeeping_are_left_out(tmp_path: Path) -> None:
    names = [".wh..wh.plnk/1.2", "a/.wh..wh.aufs", ".wh..wh..opq", "a/.wh.gone"]
    content = tar(*(file(name, 0) for name in names), file(".wh..wh.plnk", 0, type=tarfile.DIRTYPE))

    assert list(written(content, tmp_path)) == [".wh..wh..opq", "a/.wh.gone"]


@pytest.mark.attack(
    "layer_of_links_to_endless_folders",
    family="images",
    tries="Brings a small layer whose links lead through tens of thousands of folders each: unpacking takes hours.",
    outcome="invalid",
)
@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_name_of_too_many_folders_is_refused(form: int, tmp_path: Path) -> None:
    def packed(folders: int) -> bytes:
        return tar(file("ddd/" * folders + "d", 0), form=form)

    assert examined(packed(50), tmp_path)
    assert "more than 50 folders" in fault(packed(51), tmp_path)


@pytest.mark.attack(
    "layer_of_links_that_a_short_name_goes_through",
    family="images",
    tries="Has names of forty links each to forty folders, and 46 attributes each: unpacking takes a quarter of an hour.",
    outcome="invalid",
)
@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("folder", ["d/", "long-folder/"])
def test_a_link_through_too_many_folders_is_refused(folder: str, form: int, tmp_path: Path) -> None:
    def packed(folders: int) -> bytes:
        return tar(file("l", 0, type=tarfile.SYMTYPE, linkname=folder * folders + "d"), form=form)

    assert examined(packed(20), tmp_path)
    assert "a link through more than 20 folders" in fault(packed(21), tmp_path)


@pytest.mark.attack(
    "layer_of_empty_pieces",
    family="images",
    tries="Is compressed in two hundred million pieces of nothing, which keep a reader for a quarter of an hour and more.",
    outcome="timeout, at the limit of its fetching",
)
def test_a_layer_that_takes_too_long_to_read_is_late(tmp_path: Path) -> None:
    content = gzip.compress(b"") * 500_000 + gzip.compress(tar(file()))
    (tmp_path / "layer").write_bytes(content)
    begun, looks = time.monotonic(), []

    def check() -> None:
        looks.append(time.monotonic())
        if looks[-1] - begun > 0.2:
            raise AgentFault(Verdict.TIMEOUT, "late")

    with pytest.raises(AgentFault, match="late"):
        check_layer(tmp_path / "layer", "0" * 64, MIB, check=check)

    assert time.monotonic() - begun < 1


@pytest.mark.attack(
    "layer_of_damaged_compression",
    family="images",
    tries="Brings layers whose compression breaks off or lies.",
    outcome="invalid",
)
def test_damaged_compression(tmp_path: Path) -> None:
    content = gzip.compress(tar(file(size=3000)))
    for broken in (content[:-20], content[:30] + b"\xff" * 20 + content[50:], content[:-8] + bytes(8)):
        (tmp_path / "layer").write_bytes(broken)
        with pytest.raises(AgentFault, match=r"damaged|cannot be read|in the middle"):
            check_layer(tmp_path / "layer", "0" * 64, MIB)


def test_another_content_than_was_said(tmp_path: Path) -> None:
    assert "something else than the image's configuration says" in fault(tar(file()), tmp_path, digest="0" * 64)


@pytest.mark.attack(
    "layer_of_too_many_files",
    family="images",
    tries="Brings a layer of more files than the disk has room for names.",
    outcome="invalid",
)
def test_too_many_names(tmp_path: Path) -> None:
    many = tar(*(file(f"{n}", 0) for n in range(20)))

    assert examined(many, tmp_path, entries=20)[1] == 20
    assert "one file too many" in fault(many, tmp_path, entries=19)


def old_file_called_like_a_folder(spelling: str, body: bytes) -> bytes:
    """An old kind of file whose name ends in a slash: to the engine it is a folder, and `body` is headers."""
    size = b"%o" % len(body)
    match spelling:
        case "x":
            record = b"11 path=d/\n"
            return raw(b"x", b"%o" % len(record), record.ljust(512, b"\0"))[:1024] + raw(b"\0", size, body, b"f")
        case "L":
            return raw(b"L", b"2", b"d/".ljust(512, b"\0"))[:1024] + raw(b"\0", size, body, b"f")
        case _:
            return raw(b"\0", size, body, b"d/")


@pytest.mark.attack(
    "layer_with_headers_in_a_folders_bytes",
    family="images",
    tries="Hides headers, such as of a device or a huge file, as the bytes of an old file whose name ends in a slash.",
    outcome="invalid",
)
@pytest.mark.parametrize("spelling", ["its own name", "x", "L"])
def test_an_old_file_called_like_a_folder_has_no_bytes(spelling: str, tmp_path: Path) -> None:
    hidden = tar(file("console", 0, type=tarfile.CHRTYPE, mode=0o666))[:512]

    assert "a folder with bytes" in fault(old_file_called_like_a_folder(spelling, hidden), tmp_path)
    assert examined(old_file_called_like_a_folder(spelling, b""), tmp_path)[1] >= 1


@pytest.mark.attack(
    "layer_with_a_folder_named_in_two_fields",
    family="images",
    tries="Hides headers in a folder whose name gets its slash from a second part, or from times that are no numbers.",
    outcome="the engine gets a file",
)
@pytest.mark.parametrize("fields", [{257: b"ustar\x0000", 345: b"d"}, {0: b"d", 257: b"ustar  \0", 345: b"1 2"}])
def test_an_old_file_whose_name_gets_its_slash_from_a_second_field(fields: dict[int, bytes], tmp_path: Path) -> None:
    layer = bytearray(raw(b"\0", b"1000", bytes(512), b""))
    for place, value in fields.items():
        layer[place : place + len(value)] = value

    assert [(one.name, one.type, one.size) for one in written(bytes(layer), tmp_path).values()] == [
        ("d", tarfile.REGTYPE, 512)
    ]


@pytest.mark.attack(
    "layer_with_a_record_of_ten_digits",
    family="images",
    tries="Hides the size of a file behind a record whose length is written with zeros in front of it.",
    outcome="invalid",
)
def test_a_record_whose_length_is_written_with_zeros(tmp_path: Path) -> None:
    """By its first nine digits it is one of 100 bytes, by all of them one of 1001, and a size follows that."""
    data = b"0000001001 a=".ljust(99, b"A") + b"\n"
    data += b"916 b=".ljust(900, b"B") + b"\n" + b"15 size=000000\n"
    header = raw(b"x", b"%o" % len(data), data.ljust(1024, b"\0"))[:1536]

    assert "cannot be read" in fault(header + raw(b"0", b"1000", bytes(512)), tmp_path)


@pytest.mark.attack(
    "layer_of_links_that_are_copies",
    family="images",
    tries="Has links into a folder of AUFS: to an engine without overlays each is a copy, so kilobytes become gigabytes.",
    outcome="left out",
)
@pytest.mark.parametrize("name", [".wh..wh.plnk/a", "./d/../.wh..wh.plnk/a", ".wh..wh.plnk-a"])
def test_links_that_an_engine_copies_are_left_out(name: str, tmp_path: Path) -> None:
    links = [file(f"b{number}", 0, type=tarfile.LNKTYPE, linkname=name) for number in range(3)]

    assert list(written(tar(file(name), *links, file("c")), tmp_path)) == ["c"]


@pytest.mark.attack(
    "layer_of_folders_that_it_does_not_list",
    family="images",
    tries="Has files each below a hundred folders that no header names: the engine makes them, 420 MB for 500 files.",
    outcome="invalid",
)
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("below", [30, 47])
def test_folders_that_the_engine_makes_count_like_listed_ones(below: int, form: int, tmp_path: Path) -> None:
    def packed(folders: str) -> bytes:
        return tar(*(file(folders + f"{number}/" + "ddd/" * below + "f", 0) for number in range(10)), form=form)

    assert "one file too many" in fault(packed(""), tmp_path, entries=10 * below)
    assert examined(packed(""), tmp_path, entries=10 * (below + 4))
    assert "one file too many" in fault(packed("x/../"), tmp_path, entries=10 * below)


def test_folders_that_are_listed_before_count_once(tmp_path: Path) -> None:
    tree = ["a", "a/b", "a/b/f", "a/b/c", "a/b/c/f", "a/g", "h", "h/i", "./h/i/j"]

    assert examined(tar(*(file(name, 0) for name in tree)), tmp_path)[1] == len(tree)


@pytest.mark.parametrize("long", [b"x", b"L"])
def test_a_name_that_no_file_has_hides_no_folders(long: bytes, tmp_path: Path) -> None:
    """A header may be overridden: what would be the file's name then is no folder that is there."""
    deep = b"d/" * 40 + b"f"
    record = b"10 path=f\n" if long == b"x" else b"f\0"
    decoy = raw(long, b"%o" % len(record), record.ljust(512, b"\0"))[:1024] + raw(b"0", b"0", name=deep)[:512]

    assert "one file too many" in fault(decoy + raw(b"0", b"0", name=deep), tmp_path, entries=40)


def test_noise_never_does_anything_else(tmp_path: Path) -> None:
    chance = random.Random(5)
    good = tar(file("x", 900, pax_headers={"comment": "c" * 50}), file("y", 10))
    for _ in range(300):
        noisy = bytearray(good)
        for _ in range(chance.randrange(1, 6)):
            noisy[chance.randrange(len(noisy))] = chance.randrange(256)
        try:
            size, _ = examined(bytes(noisy), tmp_path)
        except AgentFault:
            continue
        assert size == len(good)
