"""tf.compat.v1: assertions, with the arguments of TensorFlow 1 (`data` before `message`)."""

from __future__ import annotations

from talweg.compat_v1.adapters import adapt

_DATA = "data=None, summarize=None, message=None, name=None"
_IGNORED = "data=-"
_PAIRS = "equal none_equal less less_equal greater greater_equal"
_SINGLE = "positive negative non_negative non_positive"


def _names(name: str) -> str:
    return f"assert_{name} debugging.assert_{name}"


for _name in _PAIRS.split():
    adapt(_names(_name), f"debugging.assert_{_name}", f"x, y, {_DATA}", _IGNORED)
for _name in _SINGLE.split():
    adapt(_names(_name), f"debugging.assert_{_name}", f"x, {_DATA}", _IGNORED)
adapt(_names("near"), "debugging.assert_near", f"x, y, rtol=None, atol=None, {_DATA}", _IGNORED)
for _name, _rank in (("rank", "rank"), ("rank_at_least", "rank"), ("rank_in", "ranks")):
    adapt(_names(_name), f"debugging.assert_{_name}", f"x, {_rank}, {_DATA}", "data=- summarize=-")
adapt("debugging.assert_shapes", "debugging.assert_shapes", f"shapes, {_DATA}", "data=-")
adapt(_names("integer"), "debugging.assert_integer", "x, message=None, name=None")
adapt(_names("scalar"), "debugging.assert_scalar", "tensor, name=None, message=None")
adapt(_names("type"), "debugging.assert_type", "tensor, tf_type, message=None, name=None")
