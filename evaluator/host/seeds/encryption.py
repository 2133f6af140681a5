"""Encryption of results and traces of a sealed season: AES-256-GCM, with a key from the season's secret by HKDF."""

import base64
import binascii
import hashlib
import os
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.model import canonical_json
from evaluator.model.records.result import Result
from evaluator.model.sealed_fields import hidden_part, public_part, rejoined, secret_hash

_KEY, _BOUND = "pullrank-sealed-key-1", "pullrank-sealed-1"
# A ciphertext shows its text's length, which an agent can influence: texts are padded to powers of two, at least these.
MIN_RESULT_BYTES, MIN_TRACE_BYTES = 1 << 14, 1 << 16
_NONCE_BYTES, _LENGTH_BYTES = 12, 8


def encrypt_result(
    result: Result, trace: bytes | None, score: float | None, secret: SeasonSecret
) -> tuple[Result, bytes | None]:
    """The public form of a result, which holds the rest encrypted, and its encrypted trace.

    Raises:
        ValueError: it was not played with that secret.
    """
    if result.sealed is not None or result.beacon != secret.beacon:
        raise ValueError("only a result of the sealed season, not sealed yet, can be sealed")
    closed = None
    if trace is not None:
        closed = _trace_file(*_encrypt(trace, MIN_TRACE_BYTES, _bound("trace", result), secret))
    return _sealed_result(result, hashlib.sha256(closed).hexdigest() if closed else None, score, secret), closed


def decrypt_result(result: Result, secret: SeasonSecret) -> Result:
    """The original of a sealed result; a result that is not sealed is returned unchanged.

    Raises:
        ValueError: the secret is another one, or the encrypted part does not fit the public one.
    """
    if result.sealed is None:
        return result
    if secret_hash(result.beacon) != secret.sha256:
        raise ValueError("it was sealed with another secret")
    text = _decrypt(result.sealed.nonce, result.sealed.ciphertext, _bound("result", result), secret)
    document = rejoined(result.document(), canonical_json.parse_strict(text))
    opened = Result.model_validate(document)
    if opened.self_hash() != opened.self_sha256:
        raise ValueError("self_sha256 does not fit what was sealed; a value was changed")
    expected = Result.with_self_hash({**public_part(opened.document(), result.trace_sha256), "sealed": result.sealed})
    if expected != result:
        raise ValueError("what is public is not what the sealed part gives; a value was changed")
    return opened


def with_new_provenance(result: Result, fields: dict[str, Any], secret: SeasonSecret) -> Result:
    """A sealed result with new values of some public fields, and the same trace file; raises as `decrypt_result` does."""
    if result.sealed is None:
        raise ValueError("only a sealed result can be opened and sealed anew")
    updated = Result.with_self_hash({**decrypt_result(result, secret).document(), **fields})
    return _sealed_result(updated, result.trace_sha256, result.sealed.score, secret)


def _sealed_result(result: Result, trace_sha256: str | None, score: float | None, secret: SeasonSecret) -> Result:
    document = result.document()
    hidden = canonical_json.canonical(hidden_part(document))
    nonce, ciphertext = _encrypt(hidden, MIN_RESULT_BYTES, _bound("result", result), secret)
    part = {"score": score, "nonce": nonce, "ciphertext": ciphertext}
    return Result.with_self_hash({**public_part(document, trace_sha256), "sealed": part})


def decrypt_trace(content: bytes, result: Result, secret: SeasonSecret) -> bytes:
    """The original of a result's sealed trace file.

    Raises:
        ValueError: it is not a sealed trace, or belongs to another result or secret.
    """
    document = canonical_json.parse_strict(content)
    if not isinstance(document, dict) or document.keys() != {"schema", "nonce", "ciphertext"} or document["schema"] != 1:
        raise ValueError("the trace is not a sealed one")
    if content != _trace_file(document["nonce"], document["ciphertext"]):
        raise ValueError("the trace is not in canonical form; a byte of it was changed")
    return _decrypt(document["nonce"], document["ciphertext"], _bound("trace", result), secret)


def _trace_file(nonce: Any, ciphertext: Any) -> bytes:
    return canonical_json.canonical({"schema": 1, "nonce": nonce, "ciphertext": ciphertext}) + b"\n"


def _bound(kind: str, result: Result) -> tuple[str, bytes]:
    """The season for the key, and the associated data, so that a ciphertext cannot be moved to another result."""
    name = [_BOUND, kind, result.key, result.login, result.agent, result.task]
    return result.season, canonical_json.canonical(name)


def _cipher(season: str, secret: SeasonSecret) -> AESGCM:
    info = canonical_json.canonical([_KEY, season])
    return AESGCM(HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=info).derive(secret.raw))


def _encrypt(text: bytes, least: int, bound: tuple[str, bytes], secret: SeasonSecret) -> tuple[str, str]:
    framed = len(text).to_bytes(_LENGTH_BYTES, "big") + text
    size = max(least, 1 << (len(framed) - 1).bit_length())
    nonce = os.urandom(_NONCE_BYTES)
    done = _cipher(bound[0], secret).encrypt(nonce, framed.ljust(size, b"\0"), bound[1])
    return nonce.hex(), base64.b64encode(done).decode()


def _decrypt(nonce: Any, ciphertext: Any, bound: tuple[str, bytes], secret: SeasonSecret) -> bytes:
    try:
        framed = _cipher(bound[0], secret).decrypt(
            bytes.fromhex(nonce), base64.b64decode(ciphertext, validate=True), bound[1]
        )
    except (InvalidTag, binascii.Error, TypeError) as error:
        raise ValueError("it cannot be opened with this secret; it is another one, or a byte was changed") from error
    size = int.from_bytes(framed[:_LENGTH_BYTES], "big")
    return framed[_LENGTH_BYTES : _LENGTH_BYTES + size]
