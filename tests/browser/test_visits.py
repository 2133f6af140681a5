"""Pages that other tests open: none finds what another has left in the browser."""

import pytest


@pytest.fixture(scope="module")
def site(whole_site):
    return whole_site


LEFT = "() => [Object.keys(localStorage).filter(name => name === 'left'), document.cookie.includes('left')]"


@pytest.mark.parametrize("turn", [1, 2])
def test_nothing_is_left_in_the_browser(visit, turn):
    page = visit("status/")

    assert page.evaluate(LEFT) == [[], False]
    page.evaluate("() => { localStorage.setItem('left', 1); document.cookie = 'left=1'; }")
    assert page.evaluate(LEFT) == [["left"], True]
