"""Steps of recurrent networks among tf.raw_ops; `table.txt` calls them `cells.*`.

Gradients are the pullbacks of the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.array.joining import concat, split, stack
from talweg.api.export import look_up
from talweg.eager.tape import GradientTape
from talweg.raw.operands import scalar_of

if TYPE_CHECKING:
    from talweg.core.value import Tensor


def _sigmoid(x: Tensor) -> Any:
    return look_up("sigmoid")(x)


def _tanh(x: Tensor) -> Any:
    return look_up("tanh")(x)


def _peephole(use: bool, x: Any, weight: Any) -> Any:
    return x * weight if use else 0.0


def _lstm(
    x: Tensor,
    cs: Tensor,
    h: Tensor,
    w: Tensor,
    p: tuple,
    b: Tensor,
    order: str,
    forget: float,
    clip: float,
    use: bool,
) -> tuple:
    """Compute one step: the input gate, state, forget gate, output gate, input, output of the
    state, h.
    """
    gates = look_up("matmul")(concat([x, h], 1), w) + b
    parts = dict(zip(order, split(gates, 4, 1)))
    wci, wcf, wco = p
    i = _sigmoid(parts["i"] + _peephole(use, cs, wci))
    f = _sigmoid(parts["f"] + forget + _peephole(use, cs, wcf))
    ci = _tanh(parts["c"])
    new = ci * i + cs * f
    if clip > 0:
        new = look_up("clip_by_value")(new, -clip, clip)
    o = _sigmoid(parts["o"] + _peephole(use, new, wco))
    co = _tanh(new)
    return i, new, f, o, ci, co, o * co


def lstm_cell(
    x: Tensor,
    cs_prev: Tensor,
    h_prev: Tensor,
    w: Tensor,
    wci: Tensor,
    wcf: Tensor,
    wco: Tensor,
    b: Tensor,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> tuple:
    """Compute one step of an LSTM (Hochreiter and Schmidhuber 1997), perhaps with peepholes."""
    clip = max(cell_clip, 0.0)
    return _lstm(x, cs_prev, h_prev, w, (wci, wcf, wco), b, "icfo", forget_bias, clip, use_peephole)


def lstm_cell_grad(
    x: Tensor,
    cs_prev: Tensor,
    h_prev: Tensor,
    w: Tensor,
    wci: Tensor,
    wcf: Tensor,
    wco: Tensor,
    b: Tensor,
    i: Tensor,
    cs: Tensor,
    f: Tensor,
    o: Tensor,
    ci: Tensor,
    co: Tensor,
    cs_grad: Tensor,
    h_grad: Tensor,
    use_peephole: bool,
) -> tuple:
    """Compute the gradients of one step: of the state, of the four gates, of the peepholes."""
    do = h_grad * co * o * (1 - o)
    dcs = h_grad * o * (1 - co * co) + cs_grad + _peephole(use_peephole, do, wco)
    dci = dcs * i * (1 - ci * ci)
    df = dcs * cs_prev * f * (1 - f)
    di = dcs * ci * i * (1 - i)
    before = dcs * f
    if use_peephole:
        before = before + di * wci + df * wcf
    total = lambda g, s: look_up("reduce_sum")(g * s, 0)  # noqa: E731
    zero = look_up("zeros_like")
    by_peepholes = (
        (total(di, cs_prev), total(df, cs_prev), total(do, cs))
        if use_peephole
        else (zero(wci), zero(wcf), zero(wco))
    )
    return before, concat([di, dci, df, do], 1), *by_peepholes


def _block(
    steps: object,
    x: Tensor,
    cs: Tensor,
    h: Tensor,
    w: Tensor,
    p: tuple,
    b: Tensor,
    order: str,
    forget: float,
    clip: float,
    use: bool,
) -> tuple:
    """Compute steps one after the other; zeros behind the last one."""
    count = int(scalar_of(steps))
    rows = []
    for time in range(x.dims[0]):
        if time < count:
            row = _lstm(x[time], cs, h, w, p, b, order, forget, clip, use)
            cs, h = row[1], row[6]
        else:
            row = (look_up("zeros_like")(cs),) * 7
        rows.append(row)
    return tuple([stack(list(part)) for part in zip(*rows)])


def block_lstm(
    seq_len_max: object,
    x: Tensor,
    cs_prev: Tensor,
    h_prev: Tensor,
    w: Tensor,
    wci: Tensor,
    wcf: Tensor,
    wco: Tensor,
    b: Tensor,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> tuple:
    """Run an LSTM over a sequence [time, batch, inputs]."""
    p, clip = (wci, wcf, wco), max(cell_clip, 0.0)
    return _block(seq_len_max, x, cs_prev, h_prev, w, p, b, "icfo", forget_bias, clip, use_peephole)


def block_lstm_v2(
    seq_len_max: object,
    x: Tensor,
    cs_prev: Tensor,
    h_prev: Tensor,
    w: Tensor,
    wci: Tensor,
    wcf: Tensor,
    wco: Tensor,
    b: Tensor,
    cell_clip: float,
    use_peephole: bool,
) -> tuple:
    """Run an LSTM over a sequence, its gates in the order i, f, c, o."""
    p, clip = (wci, wcf, wco), max(cell_clip, 0.0)
    return _block(seq_len_max, x, cs_prev, h_prev, w, p, b, "ifco", 0.0, clip, use_peephole)


def block_lstm_grad(
    order: str,
    seq_len_max: object,
    x: Tensor,
    cs_prev: Tensor,
    h_prev: Tensor,
    w: Tensor,
    wci: Tensor,
    wcf: Tensor,
    wco: Tensor,
    b: Tensor,
    cs_grad: Tensor,
    h_grad: Tensor,
    use_peephole: bool,
) -> tuple:
    """Compute the gradients of an LSTM over a sequence, without clipping.

    The bias of the forget gate is not known here; the first gates of the forward pass give it.
    """
    sources = [x, cs_prev, h_prev, w, wci, wcf, wco, b]
    forget = 1.0 if order == "icfo" else 0.0
    with GradientTape() as tape:
        tape.watch(sources)
        p = (wci, wcf, wco)
        outputs = _block(seq_len_max, x, cs_prev, h_prev, w, p, b, order, forget, 0.0, use_peephole)
    wanted = [outputs[1], outputs[6]]
    return tuple(tape.gradient(wanted, sources, [cs_grad, h_grad], "zero"))


def gru_cell(
    x: Tensor, h_prev: Tensor, w_ru: object, w_c: object, b_ru: object, b_c: object
) -> tuple:
    """Compute one step of a GRU (Cho et al. 2014): its gates r and u, the candidate c, the new
    h.
    """
    product = look_up("matmul")
    r, u = split(_sigmoid(product(concat([x, h_prev], 1), w_ru) + b_ru), 2, 1)
    c = _tanh(product(concat([x, h_prev * r], 1), w_c) + b_c)
    return r, u, c, u * h_prev + (1 - u) * c


def gru_cell_grad(
    x: Tensor,
    h_prev: Tensor,
    w_ru: object,
    w_c: object,
    b_ru: object,
    b_c: object,
    r: Any,
    u: Tensor,
    c: Any,
    d_h: Any,
) -> tuple:
    """Compute the gradients of one step: of x, of h, of c's input, of r's and u's input."""
    product, size = look_up("matmul"), x.dims[1]
    into_c = d_h * (1 - u) * (1 - c * c)
    back = product(into_c, w_c, transpose_b=True)
    by_x, by_rh = back[:, :size], back[:, size:]
    into_u = d_h * (h_prev - c) * u * (1 - u)
    into_r = by_rh * h_prev * r * (1 - r)
    into_ru = concat([into_r, into_u], 1)
    more = product(into_ru, w_ru, transpose_b=True)
    by_h = by_rh * r + more[:, size:] + d_h * u
    return by_x + more[:, :size], by_h, into_c, into_ru
