"""The leader's network on a visitor's page: onnxruntime's numbers, what is refused, and a match against it."""

import base64
import json
import re
import subprocess

import numpy as np
import pytest
from playwright.sync_api import expect

from evaluator.host.envs.pettingzoo_game import open_game
from leaderboard.games.opening_book import rules_name
from leaderboard.games.playable_network import MAX_BYTES, OPERATORS, NetworkRefused, playable_document
from tests import needs
from tests.browser import networks
from tests.browser.test_play import ASSETS, PAGE, PLAYABLE, book
from tests.docker.onnx_file import _field, _value, linear
from tests.docker.test_hostile_models import ENDS, FLOAT, graph_of, model, node, tensor

CASES = json.loads(networks.RECORDED.read_text())
WEIGHTS = tensor("w", [4, 2], FLOAT, bytes(32))


@pytest.fixture(scope="module")
def site(whole_site):
    return whole_site


def computed(expression, **values):
    """What an expression is, as JSON, beside the modules `net` and `rules`; the words of a refusal where it is refused."""
    imports = "".join(f"import * as {name} from {json.dumps(str(ASSETS / file))};\n"
                      for name, file in {"net": "network.js", "rules": "game-rules.js"}.items())  # fmt: skip
    names = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
    code = f"""{imports}{names}let said;
      try {{ said = {expression}; }}
      catch (error) {{ if (!(error instanceof net.NetworkError)) throw error; said = error.message; }}
      console.log(JSON.stringify(said));"""
    done = subprocess.run(
        [needs.node(), "--input-type=module", "-"], input=code, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_numbers_are_those_of_onnxruntime(case):
    text = playable_document(base64.b64decode(case["model"]))
    outputs = computed(
        "positions.map((one) => [...net.run(net.readNetwork(text), one, [6, 7, 2]).data])",
        text=text,
        positions=case["positions"],
    )

    np.testing.assert_allclose(outputs, case["outputs"], rtol=2e-5, atol=2e-6)


def test_the_build_lets_through_what_the_page_computes():
    assert set(computed("net.OPERATOR_NAMES")) == OPERATORS.keys() - {"Constant", "Dropout"}


@pytest.mark.parametrize("task", PLAYABLE, ids=lambda task: task.id)
def test_a_position_is_shown_as_the_environment_shows_it(task):
    environment = open_game(task).make()
    environment.reset(seed=0)
    moves, seen = [0, 1, 4, 3, 2], []
    for move in moves:
        seen.append(environment.last()[0]["observation"].ravel().tolist())
        environment.step(move)
    shown = computed(
        """(() => {
          const p = new rules.Position(rules.rulesOf(name));
          return moves.map((m) => { const seen = p.observation; p.play(m); return seen.numbers; });
        })()""",
        moves=moves, name=rules_name(task),
    )  # fmt: skip

    assert shown == seen


ELSEWHERE = tensor("w", [4, 2], FLOAT, elsewhere="/etc/passwd")
LOOP = node("Loop", ["x"], ["y"], _field(5, _field(1, "body") + _field(6, b"") + _field(20, 5)))

NO_NUMBER = node(
    "LeakyRelu", ["x"], ["y"], _field(5, _field(1, "alpha") + _field(7, np.float32("nan").tobytes()) + _field(20, 6))
)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(model(graph_of([NO_NUMBER], [], ENDS)), "infinite or none",
            marks=pytest.mark.attack("page_network_without_a_number", family="pages", outcome="refused at the build",
            tries="Leads a game by a network with NaN in an operator, which no page reads: nobody plays.")),
        pytest.param(model(graph_of([node("RandomNormal", ["x"], ["y"])], [], ENDS)),
            "an operator that a page does not play",
            marks=pytest.mark.attack("page_network_of_unknown_operators", family="pages", outcome="refused at the build",
            tries="Leads a game by a network with an operator that is not on the list.")),
        pytest.param(model(graph_of([LOOP], [], ENDS)), "has a graph or something else inside",
            marks=pytest.mark.attack("page_network_with_a_loop", family="pages", outcome="refused at the build",
            tries="Leads a game by a network that loops, so that a visitor's page never answers.")),
        pytest.param(model(graph_of([node("MatMul", ["x", "w"], ["y"])], [ELSEWHERE], ENDS)),
            "lie in another file",
            marks=pytest.mark.attack("page_network_with_weights_elsewhere", family="pages", outcome="refused at the build",
            tries="Leads a game by a network whose numbers lie in a file of the machine that builds the site.")),
        pytest.param(model(graph_of([node("Relu", ["x"], ["y"])] * 5000, [], ENDS)), "more than 200 operators",
            marks=pytest.mark.attack("page_network_of_a_huge_graph", family="pages", outcome="refused at the build",
            tries="Leads a game by a network of thousands of operators, or of a tensor that claims a terabyte.")),
        (model(graph_of([], [tensor("w", [1 << 40], FLOAT, b"")], ENDS)), "a shape that is not read"),
        (model(graph_of([], [_field(1, 1) * 1000 + _field(2, FLOAT)], ENDS)), "a shape that is not read"),
        (b"\0" * (MAX_BYTES + 1), "more than 2 MiB"),
        (b"none", "damaged"), (b"", "no graph"), (b"\xff" * 40, "damaged"),
        (linear(np.ones((4, 2), np.float32))[:-30], "damaged"),
        (model(graph_of([node("Relu", ["z"], ["y"])], [], ENDS)), "reads what nothing before it has written"),
        (model(graph_of([node("Relu", ["x"], ["x"])], [], ENDS)), "two of its values have one name"),
        (model(graph_of([node("MatMul", ["x", "w"], ["y"])], [WEIGHTS, WEIGHTS], ENDS)), "one name"),
        (model(graph_of([node("Relu", ["x"], ["y"])], [], _field(11, _value("x", 4)))), "one input and an output"),
    ],
)  # fmt: skip
def test_what_a_page_does_not_play_is_refused(content, why):
    with pytest.raises(NetworkRefused, match=re.escape(why)):
        playable_document(content)


@pytest.mark.attack(
    "page_network_of_prototype_names", family="pages", outcome="names never reach the page",
    tries="Names the values of a network __proto__, constructor or markup, so that they change a visitor's page.",
)  # fmt: skip
@pytest.mark.parametrize("name", ["__proto__", "constructor", "</script><img>"])
def test_names_of_values_never_reach_the_page(name):
    content = model(graph_of([node("MatMul", ["x", name], ["y"])], [tensor(name, [4, 2], FLOAT, bytes(32))], ENDS))

    assert name not in playable_document(content)


def document(nodes, tensors=(), output=None, **fields):
    whole = {
        "input": ["float", 4],
        "tensors": list(tensors),
        "nodes": nodes,
        "output": len(tensors) + len(nodes) if output is None else output,
    }
    return json.dumps({**whole, **fields})


SIZES = ["int64", [4], base64.b64encode(np.array([1, 1024, 1024, 2], "<f8").tobytes()).decode()]
RUN = "[...net.run(net.readNetwork(text), Array(84).fill(1), [6, 7, 2]).data].length"


@pytest.mark.attack(
    "page_network_that_takes_too_long", family="pages", outcome="stopped by its budget",
    tries="Has a small network that grows its tensors or multiplies without end in a visitor's page.",
)  # fmt: skip
def test_work_has_a_bound():
    grow = [["Concat", [n, n], [["axis", 3]]] for n in range(40)]
    cube = ["float", [1, 1, 1000, 1000], base64.b64encode(bytes(4_000_000)).decode()]

    assert computed(RUN, text=document(grow)) == "a tensor is too large"
    assert computed(RUN, text=document([["MatMul", [1, 1], []]] * 3, [cube])) == "the network takes too long"


@pytest.mark.attack(
    "page_network_of_a_wrong_shape", family="pages", outcome="refused",
    tries="Gives a page shapes that do not fit, values of later operators, options of prototypes, or no network at all.",
)  # fmt: skip
@pytest.mark.parametrize(
    "text",
    [
        "", "null", "7", "{", "[]", document([["toString", [0], []]]), document([["Relu", [1], []]]),
        document([["Relu", [-1], []]]),
        document([["Relu", ["0"], []]]), document([["Relu", [0], [["__proto__", 1]]]]), document([["Relu", [0], {}]]),
        document([], output=1), document([["Transpose", [0], [["perm", [0, 0, 1, 2]]]]]), document([["Gemm", [0, 0], []]]),
        document([["Reshape", [0, 1], []]], [SIZES]), document([], [["float", [2], "AAAA"]]),
        document([], [["float", [-1], ""]]),
        document([["Flatten", [0], [["axis", "1"]]]]), document([["Gather", [0, 0], [["axis", 9]]]]),
        document([], input=["float", 2]),
        document([["ArgMax", [0], [["axis", [1]]]]]), document([["Conv", [0, 0], [["strides", [0, 0]]]]]),
    ],
)  # fmt: skip
def test_what_fits_nothing_is_refused(text):
    assert isinstance(computed(RUN, text=text), str)
    assert computed("Object.keys(Object.prototype).length") == 0


@pytest.mark.attack(
    "page_network_of_no_numbers", family="pages", outcome="a legal move",
    tries="Answers NaN or infinity for every move, or gives the number of an illegal one.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("data", "move"),
    [
        ([None] * 3, 1),
        (["NaN"] * 3, 1),
        (["NaN", "NaN", 0], 2),
        ([9, "-Infinity", "-Infinity"], 1),
        (["Infinity", 5, "Infinity"], 2),
    ],
)
def test_no_number_is_no_best_move(data, move):
    output = "{ kind: 'float', dims: [1, 3], data: data.map(Number) }"

    assert computed(f"net.chosenMove({output}, 3, [1, 2])", data=data) == move
    assert computed("net.chosenMove({ kind: 'float', dims: [1], data: [1] }, 3, [1, 2])") is None
    assert computed("net.chosenMove({ kind: 'int64', dims: [1], data: [0] }, 3, [1, 2])") == 0


def against(visit, text):
    page = visit("")
    page.route("**/book.json", lambda route: route.fulfill(body=book([[1, "048"]]), content_type="application/json"))
    page.route("**/network.json", lambda route: route.fulfill(body=text, content_type="application/json"))
    page.goto(page.url + PAGE)
    page.locator(".pr-play").evaluate("place => { place.dataset.network = new URL('network.json', location.href).href; }")
    page.locator(".pr-play").get_by_role("button", name="Play").click()
    move(page)
    return page


def move(page):
    page.locator(".pr-play-board button[aria-disabled=false]").first.click()


def number(move):
    raw = base64.b64encode(np.array([move], "<f8").tobytes()).decode()
    return document([["Identity", [1], []]], [["int64", [1], raw]])


def test_a_visitor_plays_the_network_in_a_closed_frame(visit):
    page = against(visit, number(8))
    expect(page.locator(".pr-play-source")).to_have_text("From its network: Best plays right column, bottom row.")
    frame = page.frames[-1]

    assert page.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    assert frame.evaluate("origin") == "null"

    move(page)
    expect(page.locator(".pr-play-status")).to_have_text("You win.")
    expect(page.locator(".pr-play-source")).to_contain_text("an illegal move")


# Every way out that a worker has, and what came of each.
WAYS_OUT = """address => {
  const tried = [fetch(address)];
  if (self.importScripts) tried.push((async () => importScripts(address))());
  else tried.push(new Promise((onload, onerror) => Object.assign(new Image(), { onload, onerror, src: address })));
  return Promise.all(tried.map((one) => one.then(() => "reached", () => "refused")));
}"""


@pytest.mark.attack(
    "page_network_that_calls_home", family="pages", outcome="refused by the frame's policy",
    tries="Takes over the worker that computes a network, or its frame, and fetches an address with what it knows.",
)  # fmt: skip
def test_neither_the_frame_nor_its_worker_reaches_the_network(chromium, site):
    context = chromium.new_context()
    tab = context.new_page()
    answered = []
    home = site + "assets/logo.svg"
    tab.on("response", lambda response: answered.append(response.url))

    def opened(path):
        tab.goto(site + path)
        return tab

    page = against(opened, number(8))
    expect(page.locator(".pr-play-source")).to_contain_text("From its network")
    (worker,) = page.workers
    answered.clear()

    assert worker.evaluate(WAYS_OUT, home) == ["refused", "refused"]
    assert page.frames[-1].evaluate(WAYS_OUT, home) == ["refused", "refused"]
    assert answered == []
    assert page.evaluate(WAYS_OUT, home) == ["reached", "reached"]
    assert home in answered
    context.close()


def test_a_network_that_fails_leaves_the_book(visit):
    page = against(visit, "{}")

    expect(page.locator(".pr-play-source")).to_contain_text("Its network could not be computed here.")
    expect(page.locator(".pr-play-source")).to_contain_text("From the book: Best played")
