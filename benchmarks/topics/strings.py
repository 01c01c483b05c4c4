"""Functions of 50,000 strings, beside TensorFlow's."""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark

COUNT = 50_000
KEYS = 20_000
WORK = (
    "length",
    "substr",
    "lower",
    "as_string",
    "as_string_float",
    "to_number",
    "to_number_int",
    "split",
    "split_at",
    "to_hash_bucket_fast",
    "lookup",
    "regex_replace",
    "regex_groups",
    "regex_full_match",
)


@benchmark("strings", sweep={"work": WORK}, aims=[Ratio(2.0, of="tensorflow")])
class Strings:
    """A function of 50,000 strings of 18 bytes, of numbers, or of the digits of numbers."""

    def tf(tf, np, work):
        random = np.random.default_rng(0)
        numbers = random.integers(0, 5 * KEYS, COUNT)
        texts = tf.constant([f"Word{n:05} and Other" for n in numbers])
        digits = tf.constant([str(n) for n in numbers])
        floats = random.normal(size=COUNT).astype("float32")
        decimals = tf.constant([f"{x:.4f}" for x in floats])
        integers, floats = tf.constant(numbers), tf.constant(floats)
        keys = tf.constant([str(n) for n in range(KEYS)])
        pairs = tf.lookup.KeyValueTensorInitializer(keys, tf.range(KEYS, dtype=tf.int64))
        table = tf.lookup.StaticHashTable(pairs, -1)
        made = {
            "length": lambda: tf.strings.length(texts),
            "substr": lambda: tf.strings.substr(texts, 2, 5),
            "lower": lambda: tf.strings.lower(texts),
            "as_string": lambda: tf.as_string(integers),
            "as_string_float": lambda: tf.as_string(floats),
            "to_number": lambda: tf.strings.to_number(decimals),
            "to_number_int": lambda: tf.strings.to_number(digits, tf.int64),
            "split": lambda: tf.strings.split(texts).flat_values,
            "split_at": lambda: tf.strings.split(texts, " ").flat_values,
            "to_hash_bucket_fast": lambda: tf.strings.to_hash_bucket_fast(texts, 1000),
            "lookup": lambda: table.lookup(digits),
            "regex_replace": lambda: tf.strings.regex_replace(texts, "[0-9]+", "#"),
            "regex_groups": lambda: tf.strings.regex_replace(texts, "(\\w+) and (\\w+)", r"\2 \1"),
            "regex_full_match": lambda: tf.strings.regex_full_match(texts, "Word[0-9]+ and .*"),
        }[work]
        if made().dtype != tf.string:
            return made
        return made, lambda: tf.strings.to_hash_bucket_fast(made(), 2**40)
