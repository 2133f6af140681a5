"""An agent that acts at random and speaks the board's protocol, with nothing but Python. Replace `decide`.

The page "The protocol" describes every byte. One instance answers for all episodes, so nothing is remembered here.
"""

import json
import os
import random
import socket
import struct
import sys

HELLO, READY, ACT, ACTIONS, OVER = 1, 2, 3, 4, 7
LETTERS = {"f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}


def decide(observation, hello):
    """The action for one observation: a dictionary of flat lists of numbers, under "" where the space is no Dict."""
    space = hello["action_space"]
    if "action_mask" in observation:  # a game: which moves are legal
        return [random.choice([move for move, legal in enumerate(observation["action_mask"]) if legal])]
    if space["type"] == "Discrete":
        return [space["start"] + random.randrange(space["n"])]
    size = length(space)  # a Box, whose bounds may be infinite
    low, high = (bounds * (size // len(bounds)) for bounds in (space["low"], space["high"]))
    return [random.uniform(max(float(a), -1e3), min(float(b), 1e3)) for a, b in zip(low, high)]


def length(space):
    """How many numbers a leaf has."""
    size = 1
    for axis in space.get("shape", []):
        size *= axis
    return size


def letter(space):
    """How `struct` calls a leaf's numbers."""
    return LETTERS[space.get("dtype", "<i8")[1:]]


def leaves(space, name=""):
    """The parts in which an observation is sent: name, letter and length of each."""
    if space["type"] == "Dict":
        return [leaf for key in sorted(space["spaces"]) for leaf in leaves(space["spaces"][key], key)]
    return [(name, letter(space), length(space))]


def observations(body, parts):
    """The observations of an ACT frame."""
    (count,) = struct.unpack_from("<I", body)
    found, at = [{} for _ in range(count)], 8 + 8 * count
    for name, kind, size in parts:
        form = struct.Struct(f"<{size}{kind}")
        for observation in found:
            observation[name] = list(form.unpack_from(body, at))
            at += form.size
        at += -at % 8
    return found


def packed(actions, space, mode):
    """The body of an ACTIONS frame."""
    kind = "q" if mode == "play" else letter(space)
    numbers = [number for action in actions for number in action]
    body = struct.pack(f"<{len(numbers)}{kind}", *numbers)
    return body + bytes(-len(body) % 8)


def connect():
    """Where the referee is read, and where it is answered."""
    channel = os.environ["PULLRANK_CHANNEL"]
    if channel == "-":  # the standard streams; what is printed must not reach them
        answers, sys.stdout = sys.stdout.buffer, sys.stderr
        return sys.stdin.buffer, answers
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(channel)
    return connection.makefile("rb"), connection.makefile("wb")


def main():
    """From the referee's first word to its last."""
    questions, answers = connect()
    hello, parts = {}, []
    while head := questions.read(5):
        size, word = struct.unpack("<IB", head)
        body = questions.read(size)
        if word == HELLO:
            hello = json.loads(body)
            parts = leaves(hello["observation_space"])
            answer, kind = json.dumps({"protocol": 1, "shared": True}).encode(), READY
        elif word == ACT:
            actions = [decide(observation, hello) for observation in observations(body, parts)]
            answer, kind = packed(actions, hello["action_space"], hello["mode"]), ACTIONS
        elif word == OVER:  # only for who asks for it
            continue
        else:
            return
        answers.write(struct.pack("<IB", len(answer), kind) + answer)
        answers.flush()


if __name__ == "__main__":
    main()
