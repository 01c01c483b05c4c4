"""tf.compat.v1: assertions, with the arguments of TensorFlow 1 (`data` before `message`)."""

from __future__ import annotations

from talweg.compat_v1.adapters import adapted

_DATA = "data=None, summarize=None, message=None, name=None"
_IGNORED = "data=-"
_PAIRS = "equal none_equal less less_equal greater greater_equal"
_SINGLE = "positive negative non_negative non_positive"


def _names(name: str) -> str:
    return f"assert_{name} debugging.assert_{name}"


for _name in _PAIRS.split():
    adapted(_names(_name), f"debugging.assert_{_name}", f"x, y, {_DATA}", _IGNORED)
for _name in _SINGLE.split():
    adapted(_names(_name), f"debugging.assert_{_name}", f"x, {_DATA}", _IGNORED)
adapted(_names("near"), "debugging.assert_near", f"x, y, rtol=None, atol=None, {_DATA}", _IGNORED)
for _name, _rank in (("rank", "rank"), ("rank_at_least", "rank"), ("rank_in", "ranks")):
    adapted(
        _names(_name), f"debugging.assert_{_name}", f"x, {_rank}, {_DATA}", "data=- summarize=-"
    )
adapted("debugging.assert_shapes", "debugging.assert_shapes", f"shapes, {_DATA}", "data=-")
adapted(_names("integer"), "debugging.assert_integer", "x, message=None, name=None")
adapted(_names("scalar"), "debugging.assert_scalar", "tensor, name=None, message=None")
adapted(_names("type"), "debugging.assert_type", "tensor, tf_type, message=None, name=None")
