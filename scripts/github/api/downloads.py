"""Downloads without a token and with a limit on their size: artifacts from GitHub's storage, and the site's pages."""

import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry
from urllib3.exceptions import HTTPError

from scripts.console import OUR_FAULT, CommandError

DOWNLOAD_TIMEOUT = 15
_DOWNLOAD_RETRY = Retry(
    total=5, backoff_factor=0.5, status_forcelist=range(500, 600), allowed_methods=None, raise_on_status=False
)


def download(address: str, cap: int, *, scheme: str = "https") -> bytes | None:
    """The bytes at an address; None if there are more than `cap`.

    Raises:
        CommandError: the address has another scheme, or the download fails.
    """
    if not address.startswith(f"{scheme}://"):
        raise CommandError(OUR_FAULT, f"GitHub redirects the artifact to something that is no {scheme} address")
    content = bytearray()
    try:
        with requests.Session() as session:
            session.trust_env = False  # No .netrc: no credentials go to the storage host.
            for prefix in ("https://", "http://"):
                session.mount(prefix, HTTPAdapter(max_retries=_DOWNLOAD_RETRY))
            with session.get(address, stream=True, timeout=DOWNLOAD_TIMEOUT, allow_redirects=False) as response:
                response.raise_for_status()
                for chunk in response.iter_content(1 << 16):
                    content += chunk
                    if len(content) > cap:
                        return None
    except requests.RequestException as error:
        raise CommandError(OUR_FAULT, f"the artifact could not be downloaded: {type(error).__name__}") from error
    return bytes(content)


def fetch_page(address: str, cap: int) -> tuple[int, bytes]:
    """The status and content of a page, whatever the status; empty content if there are more than `cap` bytes.

    Raises:
        CommandError: the address is not https, or the server does not answer.
    """
    if not address.startswith("https://"):
        raise CommandError(OUR_FAULT, "the site's address is no https address")
    try:
        with requests.Session() as session:
            session.trust_env = False
            with session.get(address, stream=True, timeout=DOWNLOAD_TIMEOUT, allow_redirects=False) as response:
                content = response.raw.read(cap + 1, decode_content=True)
                return response.status_code, content if len(content) <= cap else b""
    except (requests.RequestException, HTTPError) as error:
        raise CommandError(OUR_FAULT, f"the site did not answer: {type(error).__name__}") from error
