"""Programs with `tf.function`, AutoGraph and control flow in graphs.

A program marked `truth(...)` is one that TensorFlow 2.21 itself gets wrong or refuses.  Its value
comes from the given function (a closed form, finite differences in float64, or plain Python), and
recording it fails once TensorFlow gives that value too.
"""

import functools

from recorded import comparison, description


def truth(expected):
    """Mark a program: where TensorFlow fails, `expected(np)` is what it must give."""

    def mark(program):
        @functools.wraps(program)
        def run(tf, np):
            if not tf.__name__.startswith("tensorflow"):
                return program(tf, np)
            wanted = description.describe(expected(np), tf)
            if succeeds(program, tf, np, wanted):
                raise AssertionError(f"TensorFlow gives {program.__name__} itself: drop its mark")
            return expected(np)

        return run

    return mark


def succeeds(program, tf, np, wanted):
    """Whether TensorFlow gives what is wanted of the program; its complaints are not printed."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("CRITICAL")
    try:
        got = description.describe(program(tf, np), tf)
    except Exception:  # refused, in whatever way
        return False
    finally:
        logger.setLevel(level)
    return not comparison.difference(got, wanted, {})
