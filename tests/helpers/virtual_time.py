"""An event loop in which waiting takes no time, for tests of deadlines without sockets."""

import asyncio


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock advances by the time that it would wait for."""

    def __init__(self):
        super().__init__()
        self.now, wait = 0.0, self._selector.select

        def select(timeout):
            self.now += timeout
            return wait(0)

        self._selector.select = select

    def time(self):
        return self.now


def run(work):
    """Run a coroutine in a loop of its own, and return its result."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(work)
