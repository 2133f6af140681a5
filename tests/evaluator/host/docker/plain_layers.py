"""What every layer that an engine gets is like, whatever it was made from."""

import hashlib
import io
import tarfile

from evaluator.host.docker.image_layers import CheckedLayer

KINDS = (tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE)


def assert_plain(layer: CheckedLayer) -> None:
    """Files, folders and links only, read alike by a second reader, byte for byte what their owner's archive would be."""
    content = b"".join(layer.written.pieces())
    assert (len(content), hashlib.sha256(content).hexdigest()) == (layer.written.size, layer.written.diff_id)
    again = bytearray()
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for member in archive:
            assert member.type in KINDS
            assert (member.uid, member.gid, member.uname, member.gname, member.pax_headers) == (0, 0, "", "", {})
            assert not member.name.startswith("/")
            assert ".." not in member.name.split("/")
            assert not member.mode & 0o6000
            again += member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
            if member.isreg():
                again += content[member.offset_data : member.offset_data + -(-member.size // 512) * 512]
    assert content == bytes(again) + bytes(1024)
