"""What a function refuses eagerly for its sizes, the run of a graph refuses, too.

A comparison of sizes that only a run knows is undecided while a function is traced, and passes:
each function of `talweg/api` that compares sizes has calls here that must not pass at the run.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import talweg as tf
from talweg.core import settings
from tests.api.sizes_that_do_not_fit import CASES, ELSEWHERE

API = Path(tf.__file__).parent / "api"
COMPARISONS = {"differ", "dims_differ", "below", "same", "same_dims"}
REFUSED = (tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError)


def functions_that_compare() -> set[str]:
    """Functions of the API in which sizes are compared and something is refused."""
    found = set()
    for path in API.rglob("*.py"):
        module = ".".join(path.relative_to(API).with_suffix("").parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
        imported = {alias.name for node in imports for alias in node.names}
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                nodes = list(ast.walk(function))
                names = {node.id for node in nodes if isinstance(node, ast.Name)} & imported
                if names & COMPARISONS and any(isinstance(node, ast.Raise) for node in nodes):
                    found.add(f"{module}.{function.name}")
    return found


def test_each_function_that_compares_sizes_is_here() -> None:
    assert functions_that_compare() == {*CASES, *ELSEWHERE}


def unknown(value: Any) -> Any:
    """The spec of a value whose sizes are not known."""
    if isinstance(value, tf.SparseTensor):
        return tf.SparseTensorSpec([None] * len(value.shape), value.dtype)
    return tf.TensorSpec([None] * value.ndim, value.dtype)


def known(value: Any) -> Any:
    """The spec of a value whose sizes are known."""
    if isinstance(value, tf.SparseTensor):
        return tf.SparseTensorSpec(value.shape, value.dtype)
    return tf.TensorSpec(value.shape, value.dtype)


@pytest.mark.parametrize("name", CASES)
def test_the_run_refuses_what_eager_code_refuses(name: str) -> None:
    for call, operands in CASES[name]:
        with pytest.raises((*REFUSED, ValueError)):
            call(*operands)
        signature = [unknown(operand) for operand in operands]
        for executor in ("interpret", "llvm"):
            graph = tf.function(call, input_signature=signature, autograph=False)
            with settings.executor(executor), pytest.raises(REFUSED):
                graph(*operands)


@pytest.mark.parametrize("name", [name for name in CASES if len(CASES[name][0][1]) > 1])
def test_one_operand_of_unknown_sizes_is_enough(name: str) -> None:
    """The trace refuses, or the run."""
    for call, operands in CASES[name]:
        for place in range(len(operands)):
            signature = [
                (unknown if position == place else known)(operand)
                for position, operand in enumerate(operands)
            ]
            with settings.executor("interpret"), pytest.raises((*REFUSED, ValueError)):
                tf.function(call, input_signature=signature, autograph=False)(*operands)


def test_constants_beside_unknown_sizes_are_compared() -> None:
    """A check was left out where the operand it stands at was no symbol."""
    pair = tf.ones(2)
    graph = tf.function(lambda x: tf.add_n([x, pair]), input_signature=[tf.TensorSpec([None])])
    assert graph(tf.ones(2)).numpy().tolist() == [2, 2]
    with pytest.raises(tf.errors.InvalidArgumentError):
        graph(tf.ones(1))


def test_slices_of_unknown_sizes_are_compared() -> None:
    def products(x, y):
        return tf.vectorized_map(lambda pair: tf.tensordot(pair[0], pair[1], 1), (x, y))

    graph = tf.function(products, input_signature=[tf.TensorSpec([None, None])] * 2)
    assert graph(tf.ones([2, 3]), tf.ones([2, 3])).numpy().tolist() == [3, 3]
    with pytest.raises(tf.errors.InvalidArgumentError):
        graph(tf.ones([2, 1]), tf.ones([2, 3]))


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_elements_of_unknown_ranks_are_compared(executor: str) -> None:
    def sums(x, y):
        return tf.map_fn(lambda pair: pair[0] + pair[1], (x, y), fn_output_signature=tf.float32)

    graph = tf.function(sums, input_signature=[tf.TensorSpec(None)] * 2)
    with settings.executor(executor):
        assert graph(tf.ones(2), tf.ones(2)).numpy().tolist() == [2, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="first dimensions"):
            graph(tf.ones(2), tf.ones(3))


def test_random_numbers_by_a_size_of_unknown_rank() -> None:
    """It was an AttributeError: 'list' object has no attribute 'dtype'."""
    spec = [tf.TensorSpec(None, tf.int32)]
    graph = tf.function(lambda n: tf.random.normal([n]), input_signature=spec)
    assert graph(3).shape == [3]
    with pytest.raises(tf.errors.InvalidArgumentError):
        graph(-1)


def test_weights_of_losses_are_compared() -> None:
    spec = [tf.TensorSpec([None]), tf.TensorSpec([None])]
    graph = tf.function(tf.compat.v1.losses.compute_weighted_loss, input_signature=spec)
    for fitting in (1, 2):
        assert graph(tf.ones(2), tf.ones(fitting)) == 1
    for losses, weights in ((1, 2), (2, 3)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            graph(tf.ones(losses), tf.ones(weights))


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_sets_of_unknown_ranks_are_compared(executor: str) -> None:
    two, one = tf.constant([[1], [2]]), tf.sparse.from_dense([[1]])
    kinds = {0: tf.TensorSpec(None, tf.int32), 1: tf.SparseTensorSpec(None, tf.int32)}
    for place in (0, 1):
        signature = [known(two), known(one)]
        signature[place] = kinds[place]
        graph = tf.function(tf.sets.union, input_signature=signature)
        right = tf.sparse.from_dense([[1], [3]])
        if place == 1:
            assert graph(two, right).values.numpy().tolist() == [1, 2, 3]
        with settings.executor(executor), pytest.raises(tf.errors.InvalidArgumentError):
            graph(two, one)


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("sizes", [[2, 2], [None, None]])
def test_a_band_matrix_without_an_inverse_is_refused(executor, lower, sizes) -> None:
    graph = tf.function(
        lambda bands: tf.linalg.banded_triangular_solve(bands, [[1.0], [1.0]], lower=lower),
        input_signature=[tf.TensorSpec(sizes)],
    )
    bands = tf.constant([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]])
    regular, singular = (bands[0], bands[1]) if lower else (bands[1], bands[0])
    with settings.executor(executor):
        assert graph(regular).numpy().ravel().tolist() == ([1, 0] if lower else [0, 1])
        with pytest.raises(tf.errors.InvalidArgumentError, match="banded_triangular_solve"):
            graph(singular)


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_cross_products_of_unknown_sizes(executor: str) -> None:
    cross = tf.experimental.numpy.cross
    graph = tf.function(cross, input_signature=[tf.TensorSpec([None])] * 2, autograph=False)
    x = tf.constant([1.0, 2.0, 4.0, 0.0])
    with settings.executor(executor):
        for m, n in ((2, 2), (3, 3), (2, 3)):
            wanted = cross(x[:m], tf.ones(n)).numpy().tolist()
            assert graph(x[:m], tf.ones(n)).numpy().tolist() == wanted
        with pytest.raises(tf.errors.InvalidArgumentError, match="2 or 3"):
            graph(x, tf.ones(3))


def test_a_model_with_comparisons_is_written_for_tensorflow() -> None:
    """They were written as an operation of talweg's own, which TensorFlow cannot read."""
    graph = tf.function(
        tf.nn.sigmoid_cross_entropy_with_logits, input_signature=[tf.TensorSpec([None])] * 2
    )
    written = graph.get_concrete_function().graph.as_graph_def()
    assert not [node.op for node in written.node if node.op.startswith("Talweg")]
