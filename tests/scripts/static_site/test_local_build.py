"""Whether a site is current: any change of what it is made from makes it old."""

import os
from pathlib import Path

import pytest

from scripts.static_site.local_build import fingerprint_of, forget_fingerprint, is_current, remember_fingerprint


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("results/a/b.json", "site/pages/index.md", "build/site/index.html", ".venv/lib/x.py", ".git/HEAD"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def mark(root: Path, day: str = "2026-05-01") -> str:
    return fingerprint_of(root, day)


def test_site_stays_current_until_it_is_built_again_or_removed(checkout: Path) -> None:
    assert not is_current(checkout, mark(checkout))
    remember_fingerprint(checkout, mark(checkout))
    assert is_current(checkout, mark(checkout))

    (checkout / "build/site/index.html").unlink()
    assert not is_current(checkout, mark(checkout))
    (checkout / "build/site/index.html").write_text("")
    forget_fingerprint(checkout)
    assert not is_current(checkout, mark(checkout))


@pytest.mark.parametrize("name", ["results/a/b.json", "results/a/new.json", "site/pages/index.md", ".git/HEAD"])
def test_a_changed_file_makes_it_old(checkout: Path, name: str) -> None:
    before = mark(checkout)
    (checkout / name).write_text("other")

    assert mark(checkout) != before


def test_time_of_change_day_and_address_count_and_tools_do_not(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = mark(checkout)
    (checkout / ".venv/lib/x.py").write_text("other")
    (checkout / "build/site/index.html").write_text("other")
    assert mark(checkout) == before

    assert mark(checkout, "2026-05-02") != before
    monkeypatch.setenv("PULLRANK_SITE_URL", "https://example.org")
    assert mark(checkout) != before
    monkeypatch.delenv("PULLRANK_SITE_URL")
    os.utime(checkout / "results/a/b.json", ns=(1, 1))
    assert mark(checkout) != before
