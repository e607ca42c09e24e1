"""Growth of the CPU time of a call with the length of a hostile text."""

import gc
import time

SIZE = 20_000  # characters
STEP = 4  # the longer text has STEP times as many
SCREEN_SECONDS = 0.01  # a call that takes less for SIZE is fast enough
MAX_GROWTH = 10.0  # linear is 4, quadratic is 16: noise of a busy machine stays between
MAX_SECONDS = 0.5  # for SIZE characters; linear code needs a tenth of it
ROUNDS = 3  # growth that is not seen again was noise of the machine


def least_seconds(call, text, *, tries=3, enough=0.0):
    """Return the least CPU time of some tries; there are no more once it is below *enough*."""
    best = float("inf")
    collects = gc.isenabled()
    gc.disable()
    try:
        for _ in range(tries):
            began = time.process_time()
            call(text)
            best = min(best, time.process_time() - began)
            if best <= enough:
                break
    finally:
        if collects:
            gc.enable()
    return best


def super_linear(call, text_of_size):
    """Describe the growth of a call that is slower than linear; None when it is linear."""
    short = text_of_size(SIZE)
    growth = None
    for _ in range(ROUNDS):
        single = least_seconds(call, short, enough=SCREEN_SECONDS)
        if single <= SCREEN_SECONDS:
            return None
        if single > MAX_SECONDS:
            return f"{single:.3f} s for {SIZE} characters"
        several = least_seconds(call, text_of_size(STEP * SIZE), tries=1)
        if several <= MAX_GROWTH * single:
            return None
        growth = f"{single:.3f} s, {STEP} times as long {several:.3f} s"
    return growth
