"""Every page is valid HTML, by html-validate's strict rules; what is left out is said in htmlvalidate.cjs and here."""

import json
import re
import subprocess

import pytest

from tests.browser.built import EMPTY, on_disk
from tests.browser.node import PACKAGES, needed

# What the theme writes itself, outside the text of a page: by rule, the elements.
THEMES = {
    # The boxes that open drawers without a script, and the choice of colours, which is a form without a button.
    "input-missing-label": r"#__(drawer|search|palette_\d|toc|nav_[\d_]+)$",
    "valid-autocomplete": r"#__(drawer|search|palette_\d|toc|nav_[\d_]+)$",
    "wcag/h32": r"> header > nav > form$",
    # A label that leads nowhere where a page has no contents.
    "no-missing-references": r"> nav > label$",
    "attribute-allowed-values": r"#__nav_\d+_label$",
    # The drawer holds the contents of a page once more.
    "unique-landmark": r"^(?!.*article).*> nav$",
    # Markdown has no scope for the heads of its columns; without one HTML takes them for just that.
    "wcag/h63": r"article > (?:.* > )?table(?::nth-child\(\d+\))? > thead > tr > th(?::nth-child\(\d+\))?$",
}


@pytest.fixture(scope="module")
def faults():
    """What html-validate says of all pages of a site, but for what is the theme's."""

    def found(site, place, paths):
        report_file = place / "said.json"
        command = ["node", str(needed("html-validate") / "bin" / "html-validate.mjs"), "--formatter", f"json={report_file}"]
        command += ["--config", str(PACKAGES.with_name("htmlvalidate.cjs"))]
        command += [str(site.folder / path) for path in paths]
        done = subprocess.run(command, capture_output=True, text=True, cwd=place, check=False)
        assert not done.stderr
        return [
            f"{report['filePath']}:{one['line']}: {one['ruleId']}: {one['message']} ({one['selector']})"
            for report in json.loads(report_file.read_text("utf-8"))
            for one in report["messages"]
            if not is_the_themes(one)
        ]

    return found


def is_the_themes(one) -> bool:
    return bool(re.search(THEMES.get(one["ruleId"], "(?!)"), one["selector"] or ""))


def test_every_page_is_valid(full_site, faults, tmp_path):
    assert len(full_site.pages) > 70
    assert faults(full_site, tmp_path, full_site.pages) == []


def test_what_participants_wrote_leaves_pages_valid(hostile_site, faults, tmp_path):
    """Of those who write alike in form, some."""
    written = [path for path in hostile_site.pages if path.startswith(("tasks/", "agents/user-1", "overall", "ledger"))]

    assert len(written) > 30
    assert faults(hostile_site, tmp_path, ["index.html", *written]) == []


def test_pages_without_anybody_are_valid(empty_site, faults, tmp_path):
    assert faults(empty_site, tmp_path, {on_disk(address) for address in EMPTY.values()}) == []
