"""Brings code objects that no compiler made, which crash the interpreter that runs them."""

import marshal
import types

with open("/submission/weights.bin", "rb") as file:
    noise = file.read()
print("noise", len(noise), flush=True)


def plain():
    return 1


code = plain.__code__.replace(co_code=noise, co_stacksize=1)
types.FunctionType(code, {})()


class Agent:
    def act(self, observation):
        return 0
